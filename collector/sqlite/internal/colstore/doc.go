// Package colstore encodes events as columns and computes reports from them. It has no
// database: package sqlite stores the encoded parts as blobs and looks up texts.
//
// The events of a site's day are encoded in two ways. A segment has the events of a span of
// the day, as columns. A rollup has the figures of a whole day, as tables. Both consist of
// parts: byte strings with a number. Package sqlite stores the bounds of a segment and the
// day of a rollup beside the parts.
//
// The rest of this comment is the format of the parts. It is in released files, so it only
// changes with a migration of package sqlite. Numbers of parts are in numbers.go and are never
// used again. If a day's rollup lacks a part, the day is not rolled up yet.
//
// # Numbers and texts
//
// A part is a sequence of these elements, without padding:
//
//   - number: an integer from 0 to 2^64-1 as in [encoding/binary.AppendUvarint]: seven bits in
//     each byte, the lowest bits first. The high bit is set in every byte except the last. 300
//     is AC 02.
//   - bytes: a number n, and then n bytes.
//   - front: a number n, and then bytes. The text is the first n bytes of the previous text of
//     the same kind, and then these bytes. Before the first text the previous one is empty.
//     After "/car/7" the text "/cart" is 04 01 74.
//
// Most texts are stored as an ID, a number below 2^32. ID 0 is the empty text. Package sqlite
// has the other texts in a table. Sorted by text means the order of their bytes.
//
// # Checksums
//
// A stored part ends with four bytes: the CRC-32C of its number, encoded as a number, and of the
// bytes before the checksum. The lowest bits come first. A part whose checksum differs is damaged;
// package sqlite removes it and computes it again from the events. The parts below are without
// their checksums.
//
// # Props of an event
//
// The props have the order of the event. For each prop:
//
//	number  twice the length of the key, plus 1 if the value is a number
//	        the key
//	bytes   the value; a number as JSON
//
// An event without props has no bytes. The string plan=pro is 08 70 6C 61 6E 03 70 72 6F.
//
// # Parts of a segment
//
// A row is an event. Rows are ordered by time, and within a millisecond as they were added. All
// columns have the same number of rows.
//
// Column 6 has the times, in milliseconds:
//
//	number  the number of rows
//	number  for each row: the time since the previous row, or since 00:00 UTC
//
// All other columns are dictionaries: values, and for each row the index of its value,
// counted from 0. Index 0 is the zero value, also if no row has it.
//
//	number  the number of values
//	value   for each value
//	number  the number of rows
//	number  for each row: an index
//
// Columns 0 to 5 are the path, the referrer, the source, the medium, the campaign and the name
// of the event, columns 9 and 10 the browser and the device. Their values are IDs, sorted by text.
// A row without a name is a pageview.
// Column 7 is the visitor, a number of 64 bits; it is 0 for an event without a visitor. The
// values are distinct. Column 8 has the props: each value is bytes with the props of an
// event, as above.
//
// Part 20 spares a look-up of all paths. It has no length:
//
//	front   for each value of column 0: its text
//
// # Parts of a rollup
//
// Part 0 has the totals of the day and then of its 24 hours, 25 times:
//
//	number  visitors
//	number  pageviews
//	number  events with a name
//
// Part 1 has the props, as a table for each name of an event that has any. The order of names
// has no meaning. There is no length, and without props the part is empty:
//
//	number  the ID of the name, 0 for pageviews
//	bytes   the table
//
// The rows of the table are sorted by key and then by value. A value that is a number and the
// same string are one row. For each row:
//
//	front   the key
//	front   the value, relative to the value of the previous row, whatever its key
//	number  events
//	number  visitors
//	number  events in which the value is a number
//
// Part 2 has the hours of events, as a table for each name, sorted by ID. Hours without events are
// left out:
//
//	number  the ID of the name
//	bytes   the table:
//	number  visitors of the day, and then for each hour:
//	number  the hour, from 0
//	number  events
//	number  visitors
//
// Part 3 has the pages of events, as a table for each name, sorted by ID. The tables are like those
// of parts 10 and following:
//
//	number  the ID of the name
//	bytes   the table
//
// Parts 10 to 17 have the tables of the pages, referrers, sources, mediums, campaigns, names of
// events, browsers and devices. Names count events with a name, the other tables pageviews. Parts
// 18 to 21 have the pages, sources, mediums and campaigns of events with a name. Tables except
// pages and referrers leave out events without a text. Rows are sorted by text:
//
//	number  the number of rows, and then for each row:
//	number  the ID of the text
//	number  events or pageviews
//	number  visitors
package colstore
