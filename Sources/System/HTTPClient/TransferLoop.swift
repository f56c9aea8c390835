import CLibCurl
import Platform

/// The event loop that runs all transfers on a single thread.
///
/// The thread's function creates it. Neither the loop nor `Transfer` is Sendable, so the compiler proves that multi and easy handles never
/// leave the thread. Tasks and the thread communicate through `CommandQueue` only.
@safe final class TransferLoop {
    /// For all hosts together. libcurl's default is four for each transfer in flight, which would close most connections when load falls.
    private static let maximumIdleConnectionCount = 64
    /// Commands, deadlines and libcurl's timers wake the loop earlier. This limit only matters if a wake-up is lost.
    private static let maximumPollDuration = Duration.seconds(1)

    /// Whether libcurl is initialised. The first access initialises it.
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
    private let lanes = ConnectionLanes()
    private var activeTransfers: [UInt64: ActiveTransfer] = [:]
    /// A lower bound for all deadlines, or nil if none exists.
    private var nextDeadline: ContinuousClock.Instant?
    private var isStopped = false

    /// Runs the loop on the calling thread until `CommandQueue.Command.stop`.
    static func run(commands: CommandQueue, configuration: HTTPClient.Configuration) {
        blockBrokenPipeSignal()
        if let loop = TransferLoop(commands: commands, configuration: configuration) {
            loop.run()
        } else {
            commands.close()
        }
    }

    /// Creates the loop, or returns nil if libcurl is not initialised or memory is short.
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
        commands.close()  // first, because a waker must not ring a freed handle
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
            lanes.closeIdle(at: .now)
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
            let transfer = try Transfer(
                identifier: identifier, request: request, configuration: configuration, handles: handles, lanes: lanes)
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

    /// Removes the transfer from libcurl, which closes its connection, and resumes its task with an error.
    private func fail(_ failed: ActiveTransfer, _ kind: HTTPError.Kind) {
        unsafe curl_multi_remove_handle(multi, failed.transfer.easy)
        let error = HTTPError(kind, requestMayHaveArrived: failed.transfer.requestMayHaveArrived)
        failed.continuation.resume(returning: .failure(error))
    }

    /// Fails transfers whose deadline has passed. libcurl's own timeout ignores transfers that wait for a free connection (observed with
    /// 7.88: they wait until another transfer has ended).
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
            // The message is read before the handle is removed, which frees it.
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

/// Blocks SIGPIPE, so that a broken connection is an error and no signal. libcurl writes with MSG_NOSIGNAL where it can, but TLS libraries
/// may not.
private func blockBrokenPipeSignal() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
}
