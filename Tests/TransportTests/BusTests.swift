import Envelope
import Synchronization
import TestServers
import TestSupport
import Testing
import Transport

@Suite(.safetyNet)
struct BusTests {
    final class Recorder: BusRecorder {
        struct Refusal: Error {}
        let recorded = Mutex<[WakuEnvelope]>([])
        let refuses = Mutex(false)

        func record(_ envelope: WakuEnvelope) throws {
            if refuses.withLock({ $0 }) { throw Refusal() }
            recorded.withLock { $0.append(envelope) }
        }
    }

    let bus = Bus()

    @Test func `all members except the publisher receive a message`() async throws {
        let (first, second, recorder) = (Listener(), Listener(), Recorder())
        let membership = bus.attach(listener: first)
        _ = bus.attach(listener: second)
        let recording = bus.attach(recorder: recorder)

        try await membership.publish(.sample([1]))
        try await recording.publish(.sample([2]))

        #expect(first.received == [.sample([2])])
        #expect(second.received == [.sample([1]), .sample([2])])
        #expect(recorder.recorded.withLock { $0 } == [.sample([1])])
    }

    @Test func `a message that a recorder refuses reaches no member`() async throws {
        let (listener, recorder) = (Listener(), Recorder())
        let membership = bus.attach(listener: Listener())
        _ = bus.attach(listener: listener)
        _ = bus.attach(recorder: recorder)
        recorder.refuses.withLock { $0 = true }

        await #expect(throws: Recorder.Refusal.self) { try await membership.publish(.sample()) }

        #expect(listener.received.isEmpty)
        recorder.refuses.withLock { $0 = false }
        try await membership.publish(.sample())
        #expect(listener.received == [.sample()])
    }

    @Test func `a member that has left receives nothing`() async throws {
        let (listener, recorder) = (Listener(), Recorder())
        let membership = bus.attach(listener: Listener())
        let stays = Listener()
        _ = bus.attach(listener: stays)
        let leaving = bus.attach(listener: listener)
        for _ in 1...2 { leaving.leave() }
        bus.attach(recorder: recorder).leave()

        try await membership.publish(.sample())

        #expect(listener.received.isEmpty && stays.received == [.sample()])
        #expect(recorder.recorded.withLock { $0 } == [])
    }
}
