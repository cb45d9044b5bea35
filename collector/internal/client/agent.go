package client

import (
	"strings"

	"github.com/mileusna/useragent"
)

// Kinds of devices.
const (
	desktop = "Desktop"
	mobile  = "Mobile"
	tablet  = "Tablet"
)

// otherBrowser is the name of a browser that is not in browsers.
const otherBrowser = "Other"

// browsers are the browsers that figures name, by the name that package useragent has for them. The
// name in a User-Agent is the client's choice, so other names are not taken over.
var browsers = map[string]string{
	useragent.Chrome: "Chrome", useragent.HeadlessChrome: "Chrome", useragent.Firefox: "Firefox",
	useragent.Safari: "Safari", useragent.MobileSafari: "Safari", useragent.Edge: "Edge",
	useragent.Opera: "Opera", useragent.OperaMini: "Opera", useragent.OperaTouch: "Opera", useragent.Vivaldi: "Vivaldi",
	useragent.SamsungBrowser: "Samsung Internet", "YaBrowser": "Yandex Browser",
	useragent.InternetExplorer: "Internet Explorer", "Trident": "Internet Explorer",
	useragent.FacebookApp: "Facebook", useragent.InstagramApp: "Instagram", useragent.TiktokApp: "TikTok",
}

// maxAgent is how much of a User-Agent is read, in bytes. Browsers send far shorter ones.
const maxAgent = 512

// Agent returns the browser of a User-Agent and the kind of device that it runs on. Both are of a
// short list.
func Agent(userAgent string) (browser, device string) {
	ua := useragent.Parse(userAgent[:min(len(userAgent), maxAgent)])
	browser = browsers[ua.Name]
	if browser == "" {
		browser = otherBrowser
	}
	switch {
	case ua.Tablet || ua.OS == useragent.Android && !strings.Contains(userAgent, "Mobile"):
		return browser, tablet // Android's browsers leave out Mobile on a tablet
	case ua.Mobile:
		return browser, mobile
	}
	return browser, desktop
}
