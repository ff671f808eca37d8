package sessionref

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
	"testing"
)

// Members that these types leave out on purpose: a context and its cancellation do their work. Of
// Limits they have only what concerns a host.
var leftOut = map[string]bool{"cancellationToken": true, "workDoneToken": true}

// The types are written by hand; the program's own schemas say what they have to hold.
func TestTheTypesHaveTheMembersOfTheSchemas(t *testing.T) {
	for name, value := range map[string]any{
		"Agent": Agent{}, "CancelRequestParams": idParams{}, "Candidate": Candidate{},
		"ClientInfo": ClientInfo{}, "ConfigInput": Config{}, "Degraded": Degraded{},
		"DescribeTranscriptParams": describeTranscriptParams{},
		"DescribeTranscriptResult": DescribeTranscriptResult{}, "DescribedRecall": DescribedRecall{},
		"DescribedReference": DescribedReference{}, "Display": Display{},
		"ErrorInfo": ErrorInfo{}, "ErrorObject": Error{}, "FormatMentionParams": Reference{},
		"FormatMentionResult": FormatMentionResult{}, "HostCapabilities": capabilities{},
		"Include": Include{}, "IndexState": IndexState{}, "InitializeParams": initializeParams{},
		"InitializeResult": InitializeResult{}, "Limits": Limits{},
		"ListCandidatesParams": ListCandidatesParams{}, "ListCandidatesResult": ListCandidatesResult{},
		"ListLiveSessionsResult": liveSessionsResult{}, "LiveSessionHeader": LiveSession{},
		"Outcome": Outcome{}, "ParseTextParams": parseTextParams{}, "ParseTextResult": ParseTextResult{},
		"ParsedReference": ParsedReference{}, "PolicyInput": Policy{}, "PreStepParams": PreStepParams{},
		"PreStepResult": PreStepResult{}, "PrepareParams": PrepareParams{},
		"PrepareResult": PrepareResult{}, "PreviewParams": PreviewParams{},
		"PreviewReferenceInput": PreviewReference{}, "PreviewResult": PreviewResult{},
		"PreviewTotals": PreviewTotals{}, "ReadLiveSessionParams": readLiveSessionParams{},
		"ReadLiveSessionResult": LivePage{}, "ReferenceInput": Reference{},
		"ReferenceOutcome": ReferenceOutcome{}, "Root": Root{}, "ScopeInput": Scope{},
		"ServerCapabilities": ServerCapabilities{}, "ServerInfo": ServerInfo{},
		"SessionsChangedParams": liveSessionsResult{}, "SourcePreview": SourcePreview{}, "Stats": Stats{},
		"StatusResult": StatusResult{},
	} {
		text, err := os.ReadFile("../../../schemas/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var schema struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		got := members(reflect.TypeOf(value))
		want := []string{}
		for member := range schema.Properties {
			if !leftOut[member] && (name != "Limits" || contains(got, member)) {
				want = append(want, member)
			}
		}
		sort.Strings(want)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s has %v\nnot %v", name, got, want)
		}
	}
}

func TestTheErrorCodesAreThoseOfTheSchemas(t *testing.T) {
	text, err := os.ReadFile("../../../schemas/openrpc.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Errors map[string]struct{ Code int } }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	ours := map[string]int{
		"PARSE": CodeParse, "INVALID_REQUEST": CodeInvalidRequest, "METHOD_NOT_FOUND": CodeMethodNotFound,
		"INVALID_PARAMS": CodeInvalidParams, "INVALID_LIMIT": CodeInvalidParams, "INTERNAL": CodeInternal,
		"INVALID_CONFIG": CodeInvalidConfig, "INVALID_REFERENCE": CodeInvalidReference,
		"SELF_REFERENCE": CodeSelfReference, "TOO_MANY": CodeTooMany, "READ_FAILED": CodeReadFailed,
		"BUDGET_EXCEEDED": CodeBudgetExceeded, "CANCELLED": CodeCancelled, "TIMED_OUT": CodeTimedOut,
		"BUSY": CodeBusy,
	}
	theirs := map[string]int{}
	for name, each := range document.Components.Errors {
		theirs[name] = each.Code
	}
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("%v\nnot %v", ours, theirs)
	}
}

func contains(names []string, name string) bool {
	at := sort.SearchStrings(names, name)
	return at < len(names) && names[at] == name
}

// members are the names in the JSON of a type.
func members(of reflect.Type) []string {
	names := []string{}
	for i := 0; i < of.NumField(); i++ {
		field := of.Field(i)
		if field.Anonymous {
			names = append(names, members(field.Type)...)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
