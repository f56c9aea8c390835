import Foundation
import TestSupport
import Testing

/// The clocks of a server as a process, which a library in front of the C library's shows it.
struct PreloadedClock {
    /// Adds seconds of a file to the system's clocks: the first number to the wall clock, and the second to all clocks. Timers of the
    /// system do not know them.
    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/timerfd.h>
        #include <time.h>
        static void read_file(long *step, long *pause) {
            FILE *file = fopen(getenv("CLOCK_FILE"), "r");
            *step = *pause = 0;
            if (!file) return;
            if (fscanf(file, "%ld %ld", step, pause) != 2) *step = *pause = 0;
            fclose(file);
        }
        int clock_gettime(clockid_t id, struct timespec *time) {
            static int (*next)(clockid_t, struct timespec *);
            if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
            int result = next(id, time);
            if (result != 0 || id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID) return result;
            long step, pause;
            read_file(&step, &pause);
            time->tv_sec += pause + (id == CLOCK_REALTIME ? step : 0);
            return result;
        }
        int timerfd_settime(int timer, int flags, const struct itimerspec *new, struct itimerspec *old) {
            static int (*next)(int, int, const struct itimerspec *, struct itimerspec *);
            if (!next) next = dlsym(RTLD_NEXT, "timerfd_settime");
            if (!(flags & TFD_TIMER_ABSTIME)) return next(timer, flags, new, old);
            long step, pause;
            read_file(&step, &pause);
            struct itimerspec changed = *new;
            if (changed.it_value.tv_sec > pause) changed.it_value.tv_sec -= pause;
            return next(timer, flags, &changed, old);
        }
        """

    /// The variables of a process with these clocks.
    let environment: [String: String]
    private let file: String

    init(in folder: TemporaryFolder) async throws {
        try folder.write(Self.source, to: "clock.c")
        let library = folder.path("clock.so")
        let compiled = try await ChildProcess.run(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-o", library, folder.path("clock.c"), "-ldl"])
        try #require(compiled.exitCode == 0, "\(compiled.error)")
        file = folder.path("clock")
        environment = ["LD_PRELOAD": library, "CLOCK_FILE": file]
    }

    /// Sets how far the wall clock is ahead.
    func step(seconds: Int) throws { try write(step: seconds, pause: 0) }

    /// Lets time pass at once, by all clocks.
    func pass(seconds: Int) throws { try write(step: 0, pause: seconds) }

    private func write(step: Int, pause: Int) throws {
        try Data("\(step) \(pause)".utf8).write(to: URL(filePath: file), options: .atomic)
    }
}
