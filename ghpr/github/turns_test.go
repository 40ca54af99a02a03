package github

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A repository whose writes hang holds up no other; the writes of all are still a second apart.
func TestOneSlowRepository(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Time
		c, _ := client(t, Options{Transport: trip(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			if strings.Contains(req.URL.Path, "/slow/") {
				at = append(at, time.Now())
				mu.Unlock()
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			mu.Unlock()
			return answer(201, `{"ref":"refs/heads/pawl/x","object":{"sha":"`+sha+`"}}`)(req)
		})})
		slow := make(chan error, 2)
		for range 2 {
			go func() { slow <- c.CreateRef(t.Context(), "acme/slow", "pawl/x", sha) }()
		}
		synctest.Wait()
		start := time.Now()
		for range 2 {
			if err := c.CreateRef(t.Context(), "acme/shop", "pawl/x", sha); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("%v, want a second after each write of whomever", d)
		}
		for range 2 {
			if e := kindOf(t, <-slow); e.Kind != Unknown {
				t.Error(e)
			}
		}
		if d := at[1].Sub(at[0]); d != 31*time.Second {
			t.Errorf("the second write to the slow one left after %v", d)
		}
	})
}

type trip func(*http.Request) (*http.Response, error)

// RoundTrip calls it.
func (f trip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
