package webhook

import "time"

// standard reads a Standard Webhook: {"type", "timestamp", "data"}, where data is a flag as POST /v1/flags takes it.
func standard(d Delivery, _ time.Time) (Reading, error) {
	v, err := parse[struct {
		Type text  `json:"type"`
		Data plain `json:"data"`
	}](d.Body)
	if err != nil {
		return Reading{}, err
	}
	key, f := d.Header.Get("Webhook-Id"), v.Data.flag()
	f.Source = ""
	if f.RawID == "" && f.Window == nil {
		return ignored(key, "%q names no trace", v.Type), nil
	}
	if f.Reason == "" {
		f.Reason = string(v.Type)
	}
	return Reading{Key: key, Claims: []Claim{{key, f}}}, nil
}
