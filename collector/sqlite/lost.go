package sqlite

import (
	"errors"
	"fmt"
	"slices"
)

// lost finds sites that have events, but no record of a kind in c.siteKinds.
func (c *checker) lost() error {
	if len(c.siteKinds) == 0 {
		return nil
	}
	var id string
	var recorded []string
	for _, kind := range c.siteKinds {
		err := eachRow(c.ctx, c.tx, "SELECT id FROM record WHERE kind = ?", []any{&id}, func() { recorded = append(recorded, id) }, kind)
		if err != nil {
			return err
		}
	}
	sites, err := c.sites()
	problems := []error{err}
	for _, site := range sites {
		err := eachRow(c.ctx, c.tx, "SELECT value FROM text WHERE id = ?", []any{&id}, func() {
			if !slices.Contains(recorded, id) {
				problems = append(problems, fmt.Errorf("has events of the site %s, which does not exist: add it again on the dashboard's page of sites", id))
			}
		}, site)
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
