// exits.h - early exits and branches (followed.cu).

K(exit_negative)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		float v = s[OTHER];
		if (v < 0)
			break;
		acc += 1;
	}
	out[t] = acc;
}

K(exit_return)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	if (t < n && s[OTHER] > 1e9f)
		return;
	out[t] = keep;
}

K(exit_continue)
{
	__shared__ int s[T];
	BEGIN
	int found = 0;
	for (int k = 0; k < n; k++) {
		s[t] = t + k;
		if (s[OTHER] & 1)
			continue;
		found += k;
	}
	word[t] = found;
}

K(exit_both)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t;
	if (s[OTHER] < 0 || s[T - 1 - t] < 0)
		out[t] = 1;
}

K(exit_search)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t;
	int q = 0;
	while (q < T && s[q] != t)
		q++;
	word[t] = q;
}

K(exit_switch)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t % 5;
	switch (s[OTHER]) {
	case 0:
		out[t] = 1;
		break;
	case 1:
		out[t] = 7;
		break;
	case 2:
		out[t] = n;
		break;
	case 3:
		word[t] = n;
		break;
	default:
		break;
	}
}

#define EXITS                                                                                      \
	ONE(exit_negative), ONE(exit_return), ONE(exit_continue), ONE(exit_both),                  \
		ONE(exit_search), ONE(exit_switch),
