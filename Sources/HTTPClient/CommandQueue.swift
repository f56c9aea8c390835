import CLibCurl
import Synchronization

/// What the tasks want of the transfer thread, in order.
final class CommandQueue: Sendable {
    typealias Continuation = CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>

    enum Command: Sendable {
        case start(UInt64, HTTPRequest, Continuation)
        case cancel(UInt64)
        case stop
    }

    private struct State {
        var commands: [Command] = []
        /// Of the thread, as long as it sleeps and nobody has woken it.
        var waker: Waker?
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Hands over a command. A request after ``close()`` fails at once.
    func post(_ command: Command) {
        let wasClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            state.commands.append(command)
            // Inside the lock, so that the handle cannot be freed meanwhile: see `close`. Once is enough: a system call each time.
            state.waker?.ring()
            state.waker = nil
            return false
        }
        if wasClosed { Self.refuse(command) }
    }

    func take() -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            state.waker = nil
            return state.commands
        }
    }

    /// The thread is going to sleep until the waker rings.
    ///
    /// - Returns: false: there are commands.
    func fallAsleep(_ waker: Waker) -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty else { return false }
            state.waker = waker
            return true
        }
    }

    /// Refuses what is there and what will come. When it returns nobody rings the waker any more.
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
// Sendable because it can do nothing but call `curl_multi_wakeup`, the one function of a multi handle that libcurl allows from any thread
// (curl_multi_wakeup(3)), and because `CommandQueue` lets go of it before the handle is freed.
@safe struct Waker: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer

    init(multi: UnsafeMutableRawPointer) {
        unsafe self.multi = multi
    }

    func ring() {
        // Fails only without a wake-up pipe: then the poll's own bound applies.
        _ = unsafe curl_multi_wakeup(multi)
    }
}
