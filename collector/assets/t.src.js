// Footfall's script for pages. Sends pageviews, also of single-page applications, and
// events by footfall("signup", {plan: "pro"}). Sets no cookie and stores nothing.
//
//   <script defer src="https://stats.example.com/t.js" data-site="example.com"></script>
//
// What is sent is documented in browser.go. t.js is made of this file:
//   go test -run TestScriptIsMadeOfItsSource -update
(function () {
	var script = document.currentScript;
	var endpoint = new URL("e", script.src).href; // beside t.js, wherever that is
	var referrer = document.referrer;
	var page = Math.random().toString(36).slice(2) + ".";
	var number = 0; // of the last event, because beacons may overtake each other
	var path;

	// A page that is rendered ahead counts when somebody sees it.
	function whenSeen(then) {
		if (document.prerendering) {
			document.addEventListener("prerenderingchange", then, { once: true });
		} else {
			then();
		}
	}

	// A prop is a string or a number. Other values become text, an object its JSON; null and
	// undefined are left out.
	function plain(props) {
		var all = {};
		for (var key in props) {
			var value = props[key];
			if (value == null) {
				continue;
			}
			if (typeof value == "object") {
				value = value.toJSON ? value.toJSON() : JSON.stringify(value);
			}
			all[key] = typeof value == "number" && isFinite(value) ? value : String(value);
		}
		return all;
	}

	function send(name, props) {
		// A string goes as text/plain, so that no preflight is needed. The part after
		// the # is nobody's business.
		navigator.sendBeacon(endpoint, JSON.stringify({
			s: script.dataset.site,
			n: name,
			u: location.href.split("#")[0],
			r: referrer,
			p: props && plain(props),
			q: page + ++number
		}));
	}

	// Pages are counted by path: a changed query or # is the same page.
	function count() {
		if (path != location.pathname) {
			path = location.pathname;
			send();
			referrer = ""; // further pages were reached from this site
		}
	}

	function view() {
		whenSeen(count);
	}

	["pushState", "replaceState"].forEach(function (name) {
		var original = history[name];
		history[name] = function () {
			original.apply(this, arguments);
			view();
		};
	});
	addEventListener("popstate", view);

	// A page that comes back from the back/forward cache was not loaded again.
	addEventListener("pageshow", function (event) {
		if (event.persisted) {
			send();
		}
	});

	// Calls made before this script came are in q, if the page put them there.
	var early = (window.footfall || 0).q || [];
	window.footfall = function (name, props) {
		whenSeen(function () {
			send(name, props);
		});
	};
	view();
	early.forEach(function (call) {
		footfall(call[0], call[1]);
	});
})();
