// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func TestSetBundle(t *testing.T) {
	bundle := base64.StdEncoding.EncodeToString([]byte("new"))
	ours := `"service": {"namespace": "here", "name": "hooks", "path": "/p"}`
	for name, c := range map[string]struct{ before, after string }{
		"our webhooks": {
			`{"webhooks": [{"clientConfig": {` + ours + `}}, {"clientConfig": {` + ours + `, "caBundle": "b2xk"}}]}`,
			`{"webhooks": [{"clientConfig": {` + ours + `, "caBundle": "` + bundle + `"}}, {"clientConfig": {` + ours + `, "caBundle": "` + bundle + `"}}]}`,
		},
		"webhooks of others beside ours": {
			`{"webhooks": [{"clientConfig": {"service": {"namespace": "there", "name": "hooks"}}}, {"clientConfig": {"url": "https://x"}}, {"clientConfig": {` + ours + `}}]}`,
			`{"webhooks": [{"clientConfig": {"service": {"namespace": "there", "name": "hooks"}}}, {"clientConfig": {"url": "https://x"}}, {"clientConfig": {` + ours + `, "caBundle": "` + bundle + `"}}]}`,
		},
		"our conversion": {
			`{"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {` + ours + `}}}}}`,
			`{"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {` + ours + `, "caBundle": "` + bundle + `"}}}}}`,
		},
		"the conversion of others": {`{"spec": {"conversion": {"webhook": {"clientConfig": {"service": {"namespace": "here", "name": "other"}}}}}}`, ""},
		"no conversion":            {`{"spec": {"conversion": {"strategy": "None"}}}`, ""},
		"ours as it should be":     {`{"webhooks": [{"clientConfig": {` + ours + `, "caBundle": "` + bundle + `"}}]}`, ""},
		"no webhooks":              {`{"webhooks": null}`, ""},
		"nonsense":                 {`{"webhooks": ["x", {"clientConfig": 1}, {"clientConfig": {"service": "hooks"}}], "spec": []}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := map[string]any{}
			g.Expect(json.Unmarshal([]byte(c.before), &object)).To(Succeed())
			changed := setBundle(object, types.NamespacedName{Namespace: "here", Name: "hooks"}, []byte("new"))
			g.Expect(changed).To(Equal(c.after != ""))
			content, err := json.Marshal(object)
			g.Expect(err).NotTo(HaveOccurred())
			if c.after == "" {
				c.after = c.before
			}
			g.Expect(content).To(MatchJSON(c.after))
		})
	}
}
