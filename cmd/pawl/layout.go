package main

import (
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// width is that of the terminal, or one that reads well where there is none.
func (a *app) width() int {
	if f, ok := a.stdout.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 40 {
			return w
		}
	}
	return 110
}

// newTable starts a table in pawl's style. Column wide (from 1) takes what the others, of the width used, leave of the terminal.
func (a *app) newTable(wide, used int, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(header)
	if wide > 0 {
		t.SetColumnConfigs([]table.ColumnConfig{{Number: wide, WidthMax: max(20, a.width()-used), WidthMaxEnforcer: text.WrapSoft}})
	}
	return t
}

// indent breaks a text into lines of the width, each behind the margin.
func indent(s, margin string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text.WrapSoft(s, max(20, width-len(margin)))) {
		b.WriteString(margin + strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// cut makes one line of at most n runes of a text.
func cut(s string, n int) string {
	rs := []rune(strings.Join(strings.Fields(s), " "))
	if len(rs) > n {
		return string(rs[:n]) + "…"
	}
	return string(rs)
}
