// Command promql is Prometheus' own parser and engine, and Grafana's own types, for a test of the alerts and the
// dashboard: it reads both and queries, evaluates each query over scraped samples, and says what came of it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Input is what is read from standard input.
type Input struct {
	// Rules is a rule file, as promtool checks it.
	Rules string `json:"rules"`
	// Dashboard is the JSON model of a dashboard; not looked at when empty.
	Dashboard string `json:"dashboard"`
	// Queries are evaluated at the time of the last scrape.
	Queries []string `json:"queries"`
	Scrapes []Scrape `json:"scrapes"`
}

// Scrape is an answer of /metrics; its labels are added to each sample, as a scrape configuration does.
type Scrape struct {
	AtMs   int64             `json:"atMs"`
	Text   string            `json:"text"`
	Labels map[string]string `json:"labels"`
}

// Output is what is printed.
type Output struct {
	RuleErrors      []string `json:"ruleErrors"`
	DashboardErrors []string `json:"dashboardErrors"`
	Answers         []Answer `json:"answers"`
}

// Answer is what a query gave.
type Answer struct {
	Error    string   `json:"error,omitempty"`
	Series   int      `json:"series"`
	Warnings []string `json:"warnings,omitempty"`
}

func main() {
	var input Input
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		fail(err)
	}
	promqlParser := parser.NewParser(parser.Options{})
	output := Output{RuleErrors: []string{}, DashboardErrors: dashboardErrors(input.Dashboard), Answers: []Answer{}}
	_, errs := rulefmt.Parse(
		[]byte(input.Rules), false, model.UTF8Validation, promqlParser, slog.New(slog.DiscardHandler),
	)
	for _, err := range errs {
		output.RuleErrors = append(output.RuleErrors, err.Error())
	}
	samples, last, err := read(input.Scrapes)
	if err != nil {
		fail(err)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, Parser: promqlParser})
	for _, query := range input.Queries {
		output.Answers = append(output.Answers, ask(engine, samples, query, last))
	}
	if err := json.NewEncoder(os.Stdout).Encode(output); err != nil {
		fail(err)
	}
}

// dashboardErrors are fields that Grafana's types do not have, lack or have of another type, in panels and queries too.
func dashboardErrors(text string) []string {
	found := []string{}
	if text == "" {
		return found
	}
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
	var read dashboard.Dashboard
	for _, err := range []error{read.UnmarshalJSONStrict([]byte(text)), read.Validate()} {
		var all cog.BuildErrors
		if errors.As(err, &all) {
			for _, one := range all {
				found = append(found, one.Error())
			}
		} else if err != nil {
			found = append(found, err.Error())
		}
	}
	return found
}

func ask(engine *promql.Engine, samples memory, query string, at time.Time) Answer {
	prepared, err := engine.NewInstantQuery(context.Background(), samples, nil, query, at)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	defer prepared.Close()
	result := prepared.Exec(context.Background())
	if result.Err != nil {
		return Answer{Error: result.Err.Error()}
	}
	warnings, infos := result.Warnings.AsStrings(query, 0, 0)
	answer := Answer{Series: 1, Warnings: append(warnings, infos...)}
	if vector, err := result.Vector(); err == nil {
		answer.Series = len(vector)
	}
	return answer
}

// memory is a storage with the samples of some scrapes.
type memory map[string]*series

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func read(scrapes []Scrape) (memory, time.Time, error) {
	found := memory{}
	var last int64
	for _, scrape := range scrapes {
		parser, err := textparse.New([]byte(scrape.Text), "text/plain", labels.NewSymbolTable(), textparse.ParserOptions{})
		if err != nil {
			return nil, time.Time{}, err
		}
		for {
			entry, err := parser.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, time.Time{}, err
			}
			if entry != textparse.EntrySeries {
				continue
			}
			var own labels.Labels
			parser.Labels(&own)
			builder := labels.NewBuilder(own)
			for name, value := range scrape.Labels {
				builder.Set(name, value)
			}
			all := builder.Labels()
			_, _, value := parser.Series()
			key := all.String()
			if found[key] == nil {
				found[key] = &series{labels: all}
			}
			found[key].samples = append(found[key].samples, sample{scrape.AtMs, value})
		}
		last = max(last, scrape.AtMs)
	}
	return found, time.UnixMilli(last), nil
}

// sample is a float at a time.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// Querier gives all samples: the engine takes those of its range.
func (m memory) Querier(_, _ int64) (storage.Querier, error) {
	return &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			set := &seriesSet{}
			for _, series := range m {
				if matches(series.labels, matchers) {
					set.all = append(set.all, storage.NewListSeries(series.labels, series.samples))
				}
			}
			return set
		},
	}, nil
}

func matches(all labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(all.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

// seriesSet is a list of series.
type seriesSet struct {
	all []storage.Series
	at  int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at <= len(s.all) }
func (s *seriesSet) At() storage.Series                { return s.all[s.at-1] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

func fail(err error) {
	_, _ = os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}
