import Bytes
import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct MixedRouteTests {
    private func contradict(_ route: inout MixedRoute, device: UInt8, at seconds: Int) {
        route.recordRefusal(of: Int64(seconds), at: .seconds(seconds - 1))
        route.recordEnd(of: Int64(seconds), deliveredTo: Digest32(repeating: device), at: .seconds(seconds))
    }

    @Test(
        "A route is mixed if three devices were refused and then took the same push, a minute or more apart",
        arguments: [
            ([(1, 0), (2, 30), (3, 60)], true), ([(1, 0), (2, 30), (3, 59)], false), ([(1, 0), (2, 30), (2, 60)], false),
            ([(1, 0), (2, 1_800), (3, 3_599)], true), ([(1, 0), (2, 1_800), (3, 3_600)], false),
        ] as [([(device: Int, time: Int)], Bool)])
    func contradictions(events: [(device: Int, time: Int)], isMixed: Bool) {
        var route = MixedRoute()
        for event in events { contradict(&route, device: UInt8(event.device), at: event.time) }
        let end = Duration.seconds(events[2].time)
        #expect(route.isMixed(at: end) == isMixed)
        #expect(!route.isMixed(at: end + MixedRoute.validity))
        #expect(route.nextChange == (isMixed ? end + MixedRoute.validity : nil))
    }

    @Test func `only the same push contradicts its refusal`() {
        var route = MixedRoute()
        for (number, second) in [(1, 0), (2, 30), (3, 60)] {
            route.recordRefusal(of: Int64(number), at: .seconds(second))
            route.recordEnd(of: Int64(number) + 10, deliveredTo: Digest32(repeating: UInt8(number)), at: .seconds(second))
            route.recordEnd(of: Int64(number), deliveredTo: nil, at: .seconds(second))
            route.recordEnd(of: Int64(number), deliveredTo: Digest32(repeating: UInt8(number)), at: .seconds(second))
        }
        #expect(!route.isMixed(at: .seconds(60)))
    }
}
