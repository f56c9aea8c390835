import CLibCurl
import Synchronization

/// The commands of tasks for the transfer thread, in order.
final class CommandQueue: Sendable {
    typealias Continuation = CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>

    enum Command: Sendable {
        case start(UInt64, HTTPRequest, Continuation)
        case cancel(UInt64)
        case stop
    }

    private struct State {
        var commands: [Command] = []
        /// The thread's waker, or nil unless the thread sleeps and no command has woken it.
        var waker: Waker?
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Adds a command and wakes the thread. A request after ``close()`` fails immediately.
    func post(_ command: Command) {
        let wasClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            state.commands.append(command)
            // The lock keeps the handle alive: see `close`. The waker rings only once per sleep, because each ring is a system call.
            state.waker?.ring()
            state.waker = nil
            return false
        }
        if wasClosed { Self.refuse(command) }
    }

    /// Removes and returns the commands.
    func take() -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            state.waker = nil
            return state.commands
        }
    }

    /// Registers the thread's waker, which is about to sleep.
    ///
    /// - Returns: Whether the thread may sleep, or false if there are commands.
    func fallAsleep(_ waker: Waker) -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty else { return false }
            state.waker = waker
            return true
        }
    }

    /// Refuses present and future requests. After its return no task rings the waker.
    func close() {
        let commands = state.withLock { state in
            defer { state = State(isClosed: true) }
            return state.commands
        }
        commands.forEach(Self.refuse)
    }

    private static func refuse(_ command: Command) {
        switch command {
        case .start(_, _, let continuation): continuation.resume(returning: .failure(HTTPError(.cancelled, requestMayHaveArrived: false)))
        case .cancel, .stop: break
        }
    }
}

/// Wakes the thread that sleeps in `curl_multi_poll`.
// Sendable because it only calls `curl_multi_wakeup`, the only function of a multi handle that libcurl allows from any thread
// (curl_multi_wakeup(3)), and because `CommandQueue` releases it before the handle is freed.
@safe struct Waker: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer

    init(multi: UnsafeMutableRawPointer) {
        unsafe self.multi = multi
    }

    func ring() {
        // The call fails only without a wake-up pipe. Then the poll's maximum duration bounds the sleep.
        _ = unsafe curl_multi_wakeup(multi)
    }
}
