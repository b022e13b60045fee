// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package report

// Figure is a line of the table.
type Figure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Ours and Peer are nil where nothing was measured.
	Ours *float64 `json:"ours,omitempty"`
	Peer *float64 `json:"peer,omitempty"`
	// Ratio is ours divided by the peer's; nil if one of them is missing or the peer's is 0.
	Ratio *float64 `json:"ratio,omitempty"`
	// Budget is the most that ours may be, Met whether it is; both nil where there is no budget.
	Budget *float64 `json:"budget,omitempty"`
	Met    *bool    `json:"met,omitempty"`
}

// Figures returns the lines of the table.
func (r *Report) Figures() []Figure {
	var figures []Figure
	for _, line := range lines() {
		figure := Figure{Name: line.name, Unit: line.unit, Budget: line.budget}
		figure.Ours = line.value(r.Settings, &r.Ours)
		if r.Peer != nil {
			figure.Peer = line.value(r.Settings, r.Peer)
		}
		if figure.Ours != nil && figure.Peer != nil && *figure.Peer != 0 {
			figure.Ratio = new(*figure.Ours / *figure.Peer)
		}
		if figure.Ours != nil && figure.Budget != nil {
			figure.Met = new(*figure.Ours <= *figure.Budget)
		}
		figures = append(figures, figure)
	}
	return figures
}
