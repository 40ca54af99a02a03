package hook

import (
	"encoding/json"
	"slices"
	"strings"
)

type repository struct {
	ID       int64  `json:"id"`
	FullName string `json:"full_name"`
}

// delivery is the little that is read of one.
type delivery struct {
	Ref        string     `json:"ref"`
	RefType    string     `json:"ref_type"`
	Repository repository `json:"repository"`
	Pull       struct {
		Head struct {
			Ref string `json:"ref"`
		} `json:"head"`
	} `json:"pull_request"`
	Repositories []repository `json:"repositories"`
	Added        []repository `json:"repositories_added"`
	Removed      []repository `json:"repositories_removed"`
	Changes      struct {
		Repository struct {
			Name struct {
				From string `json:"from"`
			} `json:"name"`
		} `json:"repository"`
		Owner struct {
			From struct {
				User         login `json:"user"`
				Organization login `json:"organization"`
			} `json:"from"`
		} `json:"owner"`
	} `json:"changes"`
}

type login struct {
	Login string `json:"login"`
}

// Read says of a delivery in which repository something happened that may concern us. ok is false of what means nothing here: a ping, another's pull
// request or branch, a kind or a form that is not known.
func Read(kind string, body []byte, prefix string) (e Event, ok bool) {
	var d delivery
	if json.Unmarshal(body, &d) != nil {
		return e, false
	}
	switch kind {
	case "pull_request", "pull_request_review":
		return d.event(), strings.HasPrefix(d.Pull.Head.Ref, prefix) && d.Repository.ID > 0
	case "delete":
		return d.event(), d.RefType == "branch" && strings.HasPrefix(d.Ref, prefix) && d.Repository.ID > 0
	case "repository":
		return d.event(), d.Repository.ID > 0
	case "installation", "installation_repositories":
		return d.installation(), true
	}
	return e, false
}

// event is about one repository, under the name that it has and, after a renaming or a transfer, the one that it had.
func (d *delivery) event() Event {
	e := Event{RepoID: d.Repository.ID, Names: []string{d.Repository.FullName}}
	owner, name, _ := strings.Cut(d.Repository.FullName, "/")
	from := d.Changes.Owner.From
	was := [2]string{owner, name}
	if old := from.User.Login + from.Organization.Login; old != "" {
		was[0] = old
	}
	if old := d.Changes.Repository.Name.From; old != "" {
		was[1] = old
	}
	if old := was[0] + "/" + was[1]; old != d.Repository.FullName {
		e.Names = append(e.Names, old)
	}
	return e
}

// installation is about the repositories that it names: those that come or go, else all that it has. One that names none is about every repository.
func (d *delivery) installation() (e Event) {
	for _, r := range slices.Concat(d.Repositories, d.Added, d.Removed) {
		if r.FullName != "" {
			e.Names = append(e.Names, r.FullName)
		}
	}
	return e
}
