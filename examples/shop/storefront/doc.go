// Package storefront is a small shop: pages, a basket and a checkout, with Footfall's middleware.
package storefront
