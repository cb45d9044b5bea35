package main

import (
	"context"
	"errors"
)

// tag creates the tags of version, one for each public module, or none if one of them fails.
func (r *repo) tag(ctx context.Context, version string) (created []string, err error) {
	for _, m := range r.public() {
		name := m.tag(version)
		if _, err := output(ctx, r.dir, "git", "tag", "--annotate", "--message", m.path()+" "+version, name); err != nil {
			return nil, errors.Join(err, r.untag(ctx, created))
		}
		created = append(created, name)
	}
	return created, nil
}

func (r *repo) untag(ctx context.Context, tags []string) error {
	if len(tags) == 0 {
		return nil
	}
	_, err := output(ctx, r.dir, "git", append([]string{"tag", "--delete"}, tags...)...)
	return err
}
