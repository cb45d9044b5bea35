//go:build ci

// Package design is the description of the shop from which goa makes its code.
package design

import "goa.design/goa/v3/dsl"

var _ = dsl.Service("shop", func() {
	dsl.Error("missing", dsl.String, "there is no such product")
	dsl.Method("product", func() {
		dsl.Payload(func() {
			dsl.Attribute("id", dsl.String)
			dsl.Required("id")
		})
		dsl.Result(dsl.String)
		dsl.HTTP(func() {
			dsl.GET("/products/{id}")
			dsl.Response(dsl.StatusOK)
			dsl.Response("missing", dsl.StatusNotFound)
		})
	})
	dsl.Method("order", func() {
		dsl.Payload(func() {
			dsl.Attribute("id", dsl.String)
			dsl.Required("id")
		})
		dsl.Result(dsl.String)
		dsl.HTTP(func() {
			dsl.POST("/orders")
			dsl.Response(dsl.StatusOK)
		})
	})
})
