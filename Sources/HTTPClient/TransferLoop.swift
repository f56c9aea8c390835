import CLibCurl
import Foundation

/// Drives all transfers on one thread.
///
/// It is made inside the thread's function and is not Sendable, like `Transfer`: the compiler proves that multi and easy handles never
/// leave the thread. What crosses is in `Mailbox`.
@safe final class TransferLoop {
    /// Idle connections kept open, all hosts together. libcurl's own default is four for each transfer under way, which would close
    /// the pool whenever there is little to do.
    private static let maximumIdleConnectionCount = 64
    /// Sleep no longer than this at a time. Commands and libcurl's own timers end the sleep sooner: it is the bound for a wake-up
    /// that got lost.
    private static let maximumPollDuration = Duration.seconds(1)

    private static let globalInitialization = clibcurl_global_init()

    private struct Underway {
        let transfer: Transfer
        let continuation: Mailbox.Continuation
    }

    private let multi: UnsafeMutableRawPointer
    private let mailbox: Mailbox
    private let configuration: HTTPClient.Configuration
    private var underway: [UInt64: Underway] = [:]
    private var isStopped = false

    /// The thread's function: returns after `Mailbox.Command.stop`.
    static func run(mailbox: Mailbox, configuration: HTTPClient.Configuration) {
        blockBrokenPipeSignal()
        if let loop = TransferLoop(mailbox: mailbox, configuration: configuration) {
            loop.run()
        } else {
            mailbox.close()
        }
    }

    /// - Returns: nil when memory is short.
    private init?(mailbox: Mailbox, configuration: HTTPClient.Configuration) {
        guard Self.globalInitialization == CURLE_OK, let multi = unsafe curl_multi_init() else { return nil }
        unsafe self.multi = multi
        self.mailbox = mailbox
        self.configuration = configuration
        unsafe clibcurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnectionsPerHost)
        unsafe clibcurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.maximumIdleConnectionCount)
        mailbox.connect(unsafe Alarm(multi: multi))
    }

    deinit {
        underway.values.forEach(abort)
        mailbox.close()  // first: nobody may ring a freed handle
        unsafe curl_multi_cleanup(multi)
    }

    private func run() {
        while true {
            for command in mailbox.take() { obey(command) }
            if isStopped { return }
            var runningCount: CInt = 0
            unsafe curl_multi_perform(multi, &runningCount)
            finishCompleted()
            unsafe curl_multi_poll(multi, nil, 0, CInt(Self.maximumPollDuration.wholeMilliseconds), nil)
        }
    }

    private func obey(_ command: Mailbox.Command) {
        switch command {
        case .start(let identifier, let request, let continuation):
            start(identifier, request, continuation)
        case .cancel(let identifier):
            if let underway = underway.removeValue(forKey: identifier) { abort(underway) }
        case .stop:
            isStopped = true
        }
    }

    private func start(_ identifier: UInt64, _ request: HTTPRequest, _ continuation: Mailbox.Continuation) {
        do throws(HTTPError) {
            let transfer = try Transfer(identifier: identifier, request: request, configuration: configuration)
            guard unsafe curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else {
                throw HTTPError(CURLE_OUT_OF_MEMORY, requestMayHaveArrived: false)
            }
            underway[identifier] = Underway(transfer: transfer, continuation: continuation)
        } catch {
            continuation.resume(returning: .failure(error))
        }
    }

    private func abort(_ underway: Underway) {
        unsafe curl_multi_remove_handle(multi, underway.transfer.easy)
        let error = HTTPError(.cancelled, requestMayHaveArrived: underway.transfer.requestMayHaveArrived)
        underway.continuation.resume(returning: .failure(error))
    }

    private func finishCompleted() {
        var remainingCount: CInt = 0
        while let message = unsafe curl_multi_info_read(multi, &remainingCount)?.pointee {
            // Read before the handle is removed, which frees the message.
            guard unsafe message.msg == CURLMSG_DONE, let easy = unsafe message.easy_handle else { continue }
            let code = unsafe message.data.result
            guard let identifier = unsafe Transfer.of(easy)?.identifier, let done = underway.removeValue(forKey: identifier) else { continue }
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
