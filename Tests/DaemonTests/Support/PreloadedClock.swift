import Envelope
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
    private let folder: TemporaryFolder

    init(in folder: TemporaryFolder) async throws {
        self.folder = folder
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
    ///
    /// - Parameter seconds: Since the beginning.
    func pass(seconds: Int) throws { try write(step: 0, pause: seconds) }

    /// The wall clock of whatever else lives in this time.
    var wallClock: WallClock {
        WallClock { [file] in
            let pause = (try? String(contentsOfFile: file, encoding: .utf8))?.split(separator: " ").last.flatMap { Int($0) }
            return WallClock.system.now().advanced(by: .seconds(pause ?? 0))
        }
    }

    /// Lets a PostgreSQL and its later standbys live in this time. It finds a function by the search path, so these replace its own.
    func move(_ database: PostgreSQLProcess) async throws {
        try pass(seconds: 0)
        let pause = "split_part(pg_read_file('\(file)'), ' ', 2)::int * interval '1 second'"
        for name in ["now", "clock_timestamp"] {
            try await database.query(
                "CREATE FUNCTION public.\(name)() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.\(name)() + \(pause) $$")
        }
        try await database.query("ALTER DATABASE postgres SET search_path = public, pg_catalog")
    }

    private func write(step: Int, pause: Int) throws {
        try Data("\(step) \(pause)".utf8).write(to: URL(filePath: file), options: .atomic)
    }
}
