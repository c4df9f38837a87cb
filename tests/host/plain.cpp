// plain.cpp - host code of many kinds and no CUDA: it must do the same with checks and without.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct shape {
	virtual ~shape() {}
	virtual int area() const { return 1; }
};
struct square : shape {
	int side;
	explicit square(int s) : side(s) {}
	int area() const override { return side * side; }
};
struct big {
	char bytes[300];
};
struct packed {
	char tag;
	long value;
	short tail;
} __attribute__((packed));

static std::atomic<int> counter;
static std::atomic<unsigned char> byte;
static std::mutex lock;
static thread_local int local;
static volatile int seen;
static int total;

static int recurse(int n)
{
	return n < 2 ? n : recurse(n - 1) + recurse(n - 2);
}

static void work(int id)
{
	for (int i = 0; i < 1000; i++) {
		counter.fetch_add(1, std::memory_order_relaxed);
		byte ^= (unsigned char)i;
		std::lock_guard<std::mutex> guard(lock);
		total += id;
		local++;
	}
	int expected = -1;
	counter.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
}

int main()
{
	std::vector<std::unique_ptr<shape>> shapes;
	std::map<std::string, int> names;
	std::vector<int> a(1000), b;
	big one, two;
	packed p = {1, 2, 3};
	int areas = 0, thrown = 0;

	for (int i = 0; i < 10; i++)
		shapes.emplace_back(i % 2 ? new square(i) : new shape);
	for (const auto &s : shapes)
		areas += s->area();
	for (int i = 0; i < 1000; i++) {
		a[i] = i * i;
		names[std::to_string(i % 37)] += i;
	}
	b.assign(a.begin(), a.end());
	std::memset(&one, 5, sizeof(one));
	two = one;
	p.value += two.bytes[299];
	std::thread t1(work, 1), t2(work, 2);
	t1.join();
	t2.join();
	try {
		throw std::string("x");
	} catch (const std::string &) {
		thrown = 1;
	}
	seen = recurse(15);
	std::printf("%d %d %d %ld %d %d %d %d %d\n", areas, names["7"], b[999], p.value, (int)counter,
		    (int)byte, total, thrown, seen);
	return local;
}
