import Store
import TestSupport
import Testing

@testable import HTTPGateways

/// The choice of the next push proxy, while others do not respond.
struct ProxyScheduleTests {
    private static func waiting(_ proxy: String, _ user: String = "alice", hasCall: Bool = false) -> WaitingProxy {
        WaitingProxy(proxy: proxy, user: user, hasCall: hasCall)
    }

    /// Begins requests until none may begin.
    private static func startAll(_ schedule: inout ProxySchedule) -> [String] {
        var started: [String] = []
        while let proxy = schedule.start() { started.append(proxy) }
        return started
    }

    @Test func `a proxy gets one request at a time, proxies alternate in order, and calls come first`() {
        var schedule = ProxySchedule()
        schedule.add([
            Self.waiting("a"), Self.waiting("b", "bob"), Self.waiting("c", "carol", hasCall: true), Self.waiting("a", "dave"),
        ])
        #expect(Self.startAll(&schedule) == ["c", "a", "b"])
        schedule.add([Self.waiting("a", "erin")])
        #expect(schedule.start() == nil)
        let rest = schedule.finish("a", .responded(isMoreWaiting: false))
        #expect(rest == nil && Self.startAll(&schedule) == ["a"])
    }

    @Test func `a user has at most two requests in flight, which do not block a proxy of several users`() {
        var schedule = ProxySchedule()
        schedule.add((1...96).map { Self.waiting("tarpit \($0)", "user \($0 % 5)") })
        schedule.add((1...5).map { Self.waiting("shared", "user \($0 % 5)") } + [Self.waiting("shared", "honest")])
        let started = Self.startAll(&schedule)
        #expect(started.count == 5 * ProxySchedule.userSlotCount + 1 && started.last == "shared")
    }

    @Test func `a user whose one of two requests has ended may begin one`() {
        var schedule = ProxySchedule()
        schedule.add((1...4).map { Self.waiting("\($0)") })
        for running in [["1", "2"], ["3"], ["4"]] {
            #expect(Self.startAll(&schedule) == running)
            let rest = schedule.finish(running[0], .responded(isMoreWaiting: false))
            #expect(rest == nil)
        }
    }

    @Test func `the requests of many users are bounded in total`() {
        var schedule = ProxySchedule()
        schedule.add((1...100).map { Self.waiting("\($0)", "user \($0)") })
        #expect(Self.startAll(&schedule).count == ProxySchedule.slotCount)
    }

    @Test func `proxies that timed out share separate slots until they respond`() {
        var schedule = ProxySchedule()
        let slow = (1...20).map { "slow \($0)" }
        schedule.add(slow.map { Self.waiting($0, $0) })
        #expect(Self.startAll(&schedule) == slow)
        for proxy in slow {
            let rest = schedule.finish(proxy, .timedOut)
            #expect(rest == 1)
            schedule.endRest(of: proxy)
        }
        schedule.add((1...100).map { Self.waiting("\($0)", "user \($0)") })
        let started = Self.startAll(&schedule)
        #expect(started.count { $0.hasPrefix("slow") } == ProxySchedule.timedOutSlotCount)
        #expect(started.count { !$0.hasPrefix("slow") } == ProxySchedule.slotCount)
        _ = schedule.finish("slow 1", .responded(isMoreWaiting: true))
        _ = schedule.finish("1", .responded(isMoreWaiting: false))
        // A slot of each kind is free now. The proxy that has responded comes after those that were never tried.
        #expect(Set(Self.startAll(&schedule)) == ["slow 5", "29"])
    }

    @Test func `pushes of a failed request keep waiting, and failures are counted until a response`() {
        var schedule = ProxySchedule()
        schedule.add([Self.waiting("a")])
        for count in 1...3 {
            #expect(schedule.start() == "a")
            let rest = schedule.finish("a", .failed)
            #expect(rest == count && schedule.start() == nil)
            schedule.endRest(of: "a")
        }
        #expect(schedule.start() == "a")
        let rest = schedule.finish("a", .responded(isMoreWaiting: true))
        #expect(rest == nil && schedule.start() == "a")
        _ = schedule.finish("a", .responded(isMoreWaiting: false))
        #expect(schedule.start() == nil)
    }
}
