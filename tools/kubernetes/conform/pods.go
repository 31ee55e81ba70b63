package main

import (
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// podOf returns the pod that an object is or makes, and nil where it makes none.
func podOf(object runtime.Object) *core.PodTemplateSpec {
	switch one := object.(type) {
	case *core.Pod:
		return &core.PodTemplateSpec{ObjectMeta: one.ObjectMeta, Spec: one.Spec}
	case *apps.Deployment:
		return &one.Spec.Template
	case *apps.StatefulSet:
		return &one.Spec.Template
	case *apps.DaemonSet:
		return &one.Spec.Template
	case *batch.Job:
		return &one.Spec.Template
	case *batch.CronJob:
		return &one.Spec.JobTemplate.Spec.Template
	}
	return nil
}
