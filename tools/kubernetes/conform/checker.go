package main

import (
	"fmt"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	security "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
)

// The standard as it is today, and as it was for the oldest Kubernetes that the chart runs on.
var versions = []string{"latest", "v1.30"}

// checker knows the types of all manifests, and evaluates pods.
type checker struct {
	decoder  runtime.Decoder
	policies policy.Evaluator
}

func newChecker() (*checker, error) {
	known := runtime.NewScheme()
	add := []func(*runtime.Scheme) error{
		scheme.AddToScheme, gateway.Install, monitoring.AddToScheme,
	}
	for _, one := range add {
		if err := one(known); err != nil {
			return nil, err
		}
	}
	policies, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(known, serializer.EnableStrict)
	return &checker{codecs.UniversalDeserializer(), policies}, nil
}

// faults returns what is wrong with one document.
func (c *checker) faults(document []byte) []string {
	object, kind, err := c.decoder.Decode(document, nil, nil)
	if err != nil {
		return []string{err.Error()}
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return []string{err.Error()}
	}
	name := fmt.Sprintf("%s %s", kind.Kind, accessor.GetName())
	var found []string
	for _, fault := range c.insecure(object) {
		found = append(found, fmt.Sprintf("%s: %s", name, fault))
	}
	return found
}

// insecure returns what the restricted standard forbids of the pods of an object.
func (c *checker) insecure(object runtime.Object) []string {
	template := podOf(object)
	if template == nil {
		return nil
	}
	var found []string
	for _, text := range versions {
		version, err := security.ParseVersion(text)
		if err != nil {
			return []string{err.Error()}
		}
		level := security.LevelVersion{Level: security.LevelRestricted, Version: version}
		results := policy.AggregateCheckResults(
			c.policies.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
		if !results.Allowed {
			found = append(found, fmt.Sprintf("%s: %s", level, results.ForbiddenDetail()))
		}
	}
	return found
}
