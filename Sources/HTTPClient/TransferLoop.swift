import CLibCurl
import Foundation

/// Drives all transfers on one thread.
///
/// It is made inside the thread's function and is not Sendable, like `Transfer`: the compiler proves that multi and easy handles never
/// leave the thread. What crosses is in `CommandQueue`.
@safe final class TransferLoop {
    /// Idle connections kept open, all hosts together. libcurl's own default is four for each transfer under way, which would close
    /// the pool whenever there is little to do.
    private static let maximumIdleConnectionCount = 64
    /// Sleep no longer than this at a time. Commands, deadlines and libcurl's own timers end the sleep sooner: it is the bound for a
    /// wake-up that got lost.
    private static let maximumPollDuration = Duration.seconds(1)

    /// Whether libcurl can be used, which is initialised by the first look.
    static let isInitialized = clibcurl_global_init() == CURLE_OK

    private struct ActiveTransfer {
        let transfer: Transfer
        let continuation: CommandQueue.Continuation
        let deadline: ContinuousClock.Instant
    }

    private let multi: UnsafeMutableRawPointer
    private let commands: CommandQueue
    private let configuration: HTTPClient.Configuration
    private let handles = EasyHandles()
    private var activeTransfers: [UInt64: ActiveTransfer] = [:]
    /// None of the deadlines is earlier.
    private var nextDeadline: ContinuousClock.Instant?
    private var isStopped = false

    /// The thread's function: returns after `CommandQueue.Command.stop`.
    static func run(commands: CommandQueue, configuration: HTTPClient.Configuration) {
        blockBrokenPipeSignal()
        if let loop = TransferLoop(commands: commands, configuration: configuration) {
            loop.run()
        } else {
            commands.close()
        }
    }

    /// - Returns: nil when memory is short.
    private init?(commands: CommandQueue, configuration: HTTPClient.Configuration) {
        guard Self.isInitialized, let multi = unsafe curl_multi_init() else { return nil }
        unsafe self.multi = multi
        self.commands = commands
        self.configuration = configuration
        unsafe clibcurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnectionsPerHost)
        unsafe clibcurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.maximumIdleConnectionCount)
    }

    deinit {
        for transfer in activeTransfers.values { fail(transfer, .cancelled) }
        commands.close()  // first: nobody may ring a freed handle
        unsafe curl_multi_cleanup(multi)
    }

    private func run() {
        let waker = unsafe Waker(multi: multi)
        while true {
            for command in commands.take() { execute(command) }
            if isStopped { return }
            var runningCount: CInt = 0
            unsafe curl_multi_perform(multi, &runningCount)
            finishCompleted()
            expire(now: .now)
            guard commands.fallAsleep(waker) else { continue }
            unsafe curl_multi_poll(multi, nil, 0, CInt(pollDuration(now: .now).wholeMilliseconds), nil)
        }
    }

    private func execute(_ command: CommandQueue.Command) {
        switch command {
        case .start(let identifier, let request, let continuation):
            start(identifier, request, continuation)
        case .cancel(let identifier):
            if let transfer = activeTransfers.removeValue(forKey: identifier) { fail(transfer, .cancelled) }
        case .stop:
            isStopped = true
        }
    }

    private func start(_ identifier: UInt64, _ request: HTTPRequest, _ continuation: CommandQueue.Continuation) {
        do throws(HTTPError) {
            let transfer = try Transfer(identifier: identifier, request: request, configuration: configuration, handles: handles)
            guard unsafe curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else {
                throw HTTPError(CURLE_OUT_OF_MEMORY, requestMayHaveArrived: false)
            }
            let deadline = ContinuousClock.now + request.timeout
            activeTransfers[identifier] = ActiveTransfer(transfer: transfer, continuation: continuation, deadline: deadline)
            nextDeadline = min(nextDeadline ?? deadline, deadline)
        } catch {
            continuation.resume(returning: .failure(error))
        }
    }

    /// Takes the transfer from libcurl, which closes its connection.
    private func fail(_ failed: ActiveTransfer, _ kind: HTTPError.Kind) {
        unsafe curl_multi_remove_handle(multi, failed.transfer.easy)
        let error = HTTPError(kind, requestMayHaveArrived: failed.transfer.requestMayHaveArrived)
        failed.continuation.resume(returning: .failure(error))
    }

    /// Ends what has run out of time. libcurl's own time-out does not see transfers that wait for a free connection (observed with
    /// 7.88: they wait until one of the others has ended).
    private func expire(now: ContinuousClock.Instant) {
        guard let nextDeadline, nextDeadline <= now else { return }
        for (identifier, transfer) in activeTransfers where transfer.deadline <= now {
            activeTransfers[identifier] = nil
            fail(transfer, .timedOut)
        }
        self.nextDeadline = activeTransfers.values.map(\.deadline).min()
    }

    private func pollDuration(now: ContinuousClock.Instant) -> Duration {
        guard let nextDeadline else { return Self.maximumPollDuration }
        return min(Self.maximumPollDuration, now.duration(to: nextDeadline))
    }

    private func finishCompleted() {
        var remainingCount: CInt = 0
        while let message = unsafe curl_multi_info_read(multi, &remainingCount)?.pointee {
            // Read before the handle is removed, which frees the message.
            guard unsafe message.msg == CURLMSG_DONE, let easy = unsafe message.easy_handle else { continue }
            let code = unsafe message.data.result
            guard let identifier = unsafe Transfer.of(easy)?.identifier, let done = activeTransfers.removeValue(forKey: identifier) else {
                continue
            }
            unsafe curl_multi_remove_handle(multi, easy)
            done.continuation.resume(returning: done.transfer.outcome(code))
        }
    }
}

/// A broken connection is an error like any other, not a signal. libcurl writes with MSG_NOSIGNAL where it can; TLS libraries may not.
private func blockBrokenPipeSignal() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
}
