package ghpr

import (
	"context"
	"fmt"
	"slices"
)

// part is one text of an intent that leaves with it.
type part struct{ name, text string }

// lastLook asks Options.Outgoing of everything that the intent is still to write, and parks it on a no, with nothing of it sent. What is written already is
// out, and nothing that we could do takes it back.
func (w *run) lastLook(ctx context.Context) error {
	if w.look == nil || w.in.Done() {
		return nil
	}
	parts, files := w.in.outgoing()
	for _, f := range files {
		content, err := w.textOf(ctx, f)
		if err != nil {
			return err
		}
		parts = append(parts, part{"the file " + f.Path, content}, part{"the path of a file", f.Path})
	}
	for _, p := range parts {
		if err := w.look([]byte(p.text)); err != nil {
			return w.park("something in it must not leave, so nothing of it did", fmt.Sprintf("%s: %v", p.name, err))
		}
	}
	return nil
}

// textOf gives a file's content, kept in the run so that it is fetched once.
func (w *run) textOf(ctx context.Context, f FrozenFile) (string, error) {
	if f.Content != "" || f.Size == 0 {
		return f.Content, nil
	}
	files, err := w.contents(ctx, []FrozenFile{f})
	if err != nil {
		return "", err
	}
	return files[0].Content, nil
}

// outgoing are the texts and the files that are to be written yet.
func (in *Intent) outgoing() (parts []part, files []FrozenFile) {
	add := func(name, text string) { parts = append(parts, part{name, text}) }
	if in.Steps.PR.Outcome != Confirmed {
		add("the branch", in.Branch)
		add("the title", in.Title)
		add("the body", in.Body)
		add("the commit message", in.CommitMessage)
		add("the sign-off", in.SignOff)
		files = slices.Clone(in.Files)
	}
	for _, l := range in.Labels {
		add("a label", l)
	}
	if u := in.Update; u != nil && !u.Settled() {
		add("the title of the update", u.Title)
		add("the body of the update", u.Body)
		add("the commit message of the update", u.CommitMessage)
		files = append(files, u.Files...)
	}
	return parts, files
}
