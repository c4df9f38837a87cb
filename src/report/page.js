(function () {
	var root = document.documentElement;
	root.className = "js";
	var find = document.getElementById("find"), level = document.getElementById("level");
	var shown = document.getElementById("shown");
	var items = Array.prototype.slice.call(document.querySelectorAll("details[data-l]"));
	var groups = Array.prototype.slice.call(document.querySelectorAll("section[data-k]"));
	function filter() {
		var words = find.value.toLowerCase().split(/\s+/), n = 0;
		items.forEach(function (d) {
			var text = d.textContent.toLowerCase();
			var ok = !level.value || d.dataset.l === level.value;
			ok = ok && words.every(function (w) { return text.indexOf(w) >= 0; });
			d.hidden = !ok;
			n += ok;
		});
		groups.forEach(function (g) {
			g.hidden = !g.querySelector("details:not([hidden])");
		});
		shown.textContent = n + " of " + items.length;
	}
	find.addEventListener("input", filter);
	level.addEventListener("change", filter);
	document.getElementById("open").addEventListener("click", function () {
		var open = items.some(function (d) { return !d.hidden && !d.open; });
		items.forEach(function (d) { if (!d.hidden) d.open = open; });
	});
	document.getElementById("theme").addEventListener("click", function () {
		var dark = root.dataset.theme ? root.dataset.theme === "dark"
			: matchMedia("(prefers-color-scheme: dark)").matches;
		root.dataset.theme = dark ? "light" : "dark";
	});
	document.querySelector("form").addEventListener("submit", function (e) {
		e.preventDefault();
	});
	var opened;
	addEventListener("beforeprint", function () {
		opened = items.map(function (d) { var o = d.open; d.open = true; return o; });
	});
	addEventListener("afterprint", function () {
		items.forEach(function (d, i) { d.open = opened[i]; });
	});
	filter();
})();
