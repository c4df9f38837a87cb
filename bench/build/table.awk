# table.awk - the tables of run.sh from its tab-separated file: each group, and the twelve worst.
BEGIN { FS = "\t" }
NR == 1 {
	for (i = 1; i <= NF; i++)
		at[$i] = i
	next
}
function v(name) { return $(at[name]) }
v("plain_rc") != 0 { unbuilt++; names = names " " v("name"); next }
v("rc") != 0 { failed++; bad = bad " " v("group") "/" v("name"); next }
{
	r = v("plain_s") > 0 ? v("s") / v("plain_s") : 1
	for (k = 0; k < 2; k++) {
		g = k ? "all" : v("group")
		if (!(g in n) && !k)
			order[++ngroups] = g
		n[g]++
		logs[g] += log(r)
		for (i = 5; i <= NF; i++)
			sum[g, i] += $i
		if (r > worst[g])
			worst[g] = r
		within[g] += r <= 1.3
		above[g] += r > 2.5
	}
	rows[++nrows] = sprintf("%09.4f\t%s", r, $0)
}
function line(g) {
	printf "| %s | %d | %d | %d | %d | %d | %.1f | %.1f | %.0f | %.0f | %.2f | %.2f | %d | %d |\n", g, n[g],
		sum[g, at["lines"]], sum[g, at["lines_after"]], sum[g, at["sites"]], sum[g, at["groups"]],
		sum[g, at["plain_ptxas_s"]],
		sum[g, at["original_s"]] + sum[g, at["trial_s"]] + sum[g, at["final_s"]],
		sum[g, at["plain_s"]], sum[g, at["s"]], exp(logs[g] / n[g]), worst[g], within[g], above[g]
}
END {
	print "| group | programs | PTX lines | with checks | sites | groups | ptxas s | with checks | nvcc s | collider nvcc s | geomean | worst | up to 1.3 | above 2.5 |"
	print "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
	for (i = 1; i <= ngroups; i++)
		line(order[i])
	if (n["all"])
		line("all")
	print ""
	print "| program | sites | groups | lines | with checks | nvcc s | collider nvcc s | ratio | pass s | ptxas: original s | trials s (runs) | final s |"
	print "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
	for (i = 2; i <= nrows; i++)
		for (j = i; j > 1 && rows[j] > rows[j - 1]; j--) {
			t = rows[j]; rows[j] = rows[j - 1]; rows[j - 1] = t
		}
	for (i = 1; i <= nrows && i <= 12; i++) {
		split(rows[i], f, "\t")
		printf "| %s/%s | %d | %d | %d | %d | %.1f | %.1f | %.2f | %.2f | %.2f | %.2f (%d) | %.2f |\n", f[2], f[3],
			f[at["sites"] + 1], f[at["groups"] + 1], f[at["lines"] + 1], f[at["lines_after"] + 1],
			f[at["plain_s"] + 1], f[at["s"] + 1], f[1], f[at["pass_s"] + 1], f[at["original_s"] + 1],
			f[at["trial_s"] + 1], f[at["trials"] + 1], f[at["final_s"] + 1]
	}
	if (unbuilt)
		printf "\n%d that nvcc itself does not build here:%s\n", unbuilt, names
	if (failed)
		printf "\n%d that only collider nvcc does not build:%s\n", failed, bad
	exit failed > 0
}
