package wire

import "bytes"

// SiteAndName returns site_id and name of the body of an event, as JSON texts with quotes. The body
// begins as this library writes it; of another body they are empty.
func SiteAndName(body []byte) (site, name []byte) {
	rest, ok := bytes.CutPrefix(body, []byte(`{"site_id":`))
	if !ok {
		return nil, nil
	}
	site, rest = cutString(rest)
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"name":`)); !ok {
		return nil, nil
	}
	name, _ = cutString(rest)
	return site, name
}

// cutString cuts a JSON string at the beginning of text off.
func cutString(text []byte) (s, rest []byte) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i+1], text[i+1:]
		}
	}
	return nil, nil
}
