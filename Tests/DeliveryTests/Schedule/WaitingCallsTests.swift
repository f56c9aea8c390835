import Bytes
import Store
import TestSupport
import Testing

@testable import Delivery

/// Calls beside a route's workers.
@Suite(.safetyNet) struct WaitingCallsTests {
    private func device(_ number: Int) -> DeviceCode { TestRoute.device(number) }

    /// Makes a call to a device that has worked, which takes so long.
    private func call(_ device: Int, row: Int64, for seconds: Double, at time: Double, in calls: inout WaitingCalls) throws {
        calls.add(row, to: self.device(device), hasWorked: true, until: .seconds(time + 60))
        let next = calls.takeNext(WaitingCalls.Limits(workerCount: 96), as: Int(row), at: .seconds(time))
        let taken = try #require(next)
        calls.posted(Int(row), to: taken.device, at: .seconds(time))
        calls.end(Int(row), to: taken.device, hasWorked: false, at: .seconds(time + seconds))
    }

    @Test(arguments: ["expired", "withdrawn"])
    func `a device whose last call was slow stays one of those after a call that was not posted`(end: String) throws {
        var calls = WaitingCalls()
        for number in 1...20 { try call(number, row: Int64(number), for: 6, at: 0, in: &calls) }
        for number in 1...20 { calls.add(Int64(100 + number), to: device(number), hasWorked: true, until: .seconds(70)) }
        if end == "withdrawn" {
            for number in 1...16 {
                let next = calls.takeNext(WaitingCalls.Limits(workerCount: 96), as: 100 + number, at: .seconds(10))
                let taken = try #require(next)
                calls.end(100 + number, to: taken.device, hasWorked: false, at: .seconds(11))
            }
        }
        _ = calls.takeNext(WaitingCalls.Limits(workerCount: 96), as: 200, at: .seconds(71))
        for number in 1...20 { calls.add(Int64(300 + number), to: device(number), hasWorked: true, until: .seconds(140)) }
        // Sixteen places are theirs.
        let taken = (1...20).compactMap { calls.takeNext(WaitingCalls.Limits(workerCount: 96), as: 300 + $0, at: .seconds(80)) }
        #expect(taken.count == 16)
        calls.add(400, to: device(400), hasWorked: true, until: .seconds(140))
        let honest = calls.takeNext(WaitingCalls.Limits(workerCount: 96), as: 400, at: .seconds(80))
        #expect(honest?.row == 400)
    }

    @Test func `a call that is found again under its device's new token is made once`() throws {
        var calls = WaitingCalls()
        for number in 1...2 { calls.add(7, to: device(number), hasWorked: true, until: .seconds(60)) }
        let limits = WaitingCalls.Limits(workerCount: 96)
        let taken = (1...2).compactMap { calls.takeNext(limits, as: $0, at: .zero) }
        #expect(taken.map(\.row) == [7])
        calls.end(1, to: device(1), hasWorked: false, putsBack: true, at: .zero)
        calls.add(7, to: device(2), hasWorked: true, until: .seconds(60))
        #expect((3...4).compactMap { calls.takeNext(limits, as: $0, at: .zero) }.map(\.row) == [7])
    }

    @Test func `while no call can be made, each device keeps one turn`() throws {
        var calls = WaitingCalls()
        for row in 1...100 {
            let now = Duration.seconds(100 * row)
            calls.add(Int64(row), to: device(1), hasWorked: true, until: now + WaitingCalls.lifetime)
            calls.sweep(at: now + WaitingCalls.lifetime)
            #expect(calls.isEmpty)
        }
        for row in 101...105 as ClosedRange<Int64> { calls.add(row, to: device(1), hasWorked: true, until: .seconds(20_000)) }
        let limits = WaitingCalls.Limits(workerCount: 96)
        #expect((1...9).compactMap { calls.takeNext(limits, as: $0, at: .seconds(10_060)) }.count == WaitingCalls.maximumPerDevice)
    }

    @Test func `calls that end without an attempt are told the database a thousand at a time`() {
        var turns = Turns(workerCount: 8)
        let call = { (row: Int64) in Arrivals.Call(row: row, device: device(1), hasWorked: true, acceptedAt: World.start) }
        turns.told(Arrivals(calls: (1...2_516).map(call)), elapsed: { _ in .zero }, callsUntil: { _ in .seconds(60) }, at: .zero)
        var ended: [Int64] = []
        while case let rows = turns.endedCalls(at: .zero), !rows.isEmpty {
            #expect(rows.count <= 1_000)
            // What could not be written is told again.
            let again = turns.endedCalls(at: .zero)
            #expect(again == rows)
            ended += rows
            turns.finishedCalls(rows.count)
        }
        #expect(ended == Array(1...2_500))
    }
}
