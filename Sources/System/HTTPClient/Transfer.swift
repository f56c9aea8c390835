import CLibCurl
import Platform

/// A request in flight: owns the easy handle, the header list and the received part of the response.
///
/// It is not Sendable and exists on the thread of `TransferLoop` only. libcurl's callbacks find it through a pointer that is not retained.
/// This is sound because only the easy handle calls them, and `deinit` returns the handle without its callbacks.
@safe final class Transfer {
    /// For all header lines together, ten times the headers of the servers in use. libcurl 7.88 limits how long a line is but not how many
    /// there are (CVE-2023-38039).
    static let maximumHeaderByteCount = 64 * 1024
    private static let userAgent = "pushserver"
    /// The age in seconds at which a connection is not used again, so that a host that moves to another address is followed.
    private static let maximumConnectionAge = 300
    /// The time in seconds for which an address of a host is remembered. A new connection to a host that moved then finds it, and
    /// connections that open together ask once.
    private static let maximumAddressAge = 5

    let identifier: UInt64
    let easy: UnsafeMutableRawPointer
    private let handles: EasyHandles
    private var headerLines: UnsafeMutablePointer<curl_slist>?

    private let maximumBodyByteCount: Int
    private let mayBeSentAgain: Bool
    private let onlyPublicAddresses: Bool
    private let needsKeptConnection: Bool
    /// The request's lane, once it is entered.
    private var lane: Int?
    private let lanes: ConnectionLanes
    /// Whether a socket was opened for the request.
    private var hasOpenedSocket = false
    /// Whether the request was kept from a new connection.
    private var isRefused = false
    private var attemptCount = 0
    private var headers = HTTPHeaders()
    private var headerByteCount = 0
    private var body: [UInt8] = []

    /// Checks the request and sets up a handle for it, without sending.
    init(
        identifier: UInt64, request: HTTPRequest, configuration: HTTPClient.Configuration, handles: EasyHandles,
        lanes: ConnectionLanes
    ) throws(HTTPError) {
        guard let easy = unsafe handles.take() else { throw HTTPError(CURLE_OUT_OF_MEMORY, requestMayHaveArrived: false) }
        self.identifier = identifier
        unsafe self.easy = easy
        self.handles = handles
        self.lanes = lanes
        onlyPublicAddresses = request.onlyPublicAddresses
        needsKeptConnection = request.needsKeptConnection
        maximumBodyByteCount = request.maximumResponseBodyByteCount
        mayBeSentAgain = request.method == .get
        try set(request)
        try set(configuration)
        try setCallbacks()
        try setConnection(of: request)
    }

    deinit {
        if let lane { unsafe lanes.leave(lane, with: easy, at: .now) }
        unsafe handles.give(back: easy)
        unsafe curl_slist_free_all(headerLines)
    }

    /// Whether any of the request may have been sent.
    var requestMayHaveArrived: Bool { attemptCount > 0 }

    /// Returns the result after libcurl has reported that the transfer is over.
    func outcome(_ code: CURLcode) -> Result<HTTPResponse, HTTPError> {
        if isRefused { return .failure(HTTPError(.noKeptConnection, requestMayHaveArrived: false)) }
        guard code == CURLE_OK else { return .failure(HTTPError(code, requestMayHaveArrived: requestMayHaveArrived)) }
        var status = 0
        unsafe clibcurl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
        return .success(HTTPResponse(status: status, headers: headers, body: body))
    }

    /// The transfer that `TransferLoop` gave to libcurl as this handle.
    static func of(_ easy: UnsafeMutableRawPointer) -> Transfer? {
        var pointer: UnsafeMutableRawPointer?
        unsafe clibcurl_get_private(easy, &pointer)
        return unsafe pointer.map { unsafe of(userData: $0) }
    }
}

// MARK: - Events of libcurl

extension Transfer {
    /// Allows or forbids sending the request over a connection.
    ///
    /// libcurl calls it a second time if a kept connection broke before a response started, to repeat the request over another connection.
    /// Only a GET may be repeated: for other methods the caller must learn that the outcome is unknown.
    ///
    /// - Returns: Whether to continue. If not, libcurl closes the connection.
    fileprivate func requestStarts() -> Bool {
        guard attemptCount == 0 || mayBeSentAgain else { return false }
        isRefused = needsKeptConnection && hasOpenedSocket
        guard !isRefused else { return false }
        attemptCount += 1
        return true
    }

    /// Opens a socket for a connection to an address.
    ///
    /// The address is checked here, so that no second name resolution can return another address.
    ///
    /// - Parameter address: An address that is valid during the call. An IPv6 address is longer than the type.
    /// - Returns: The socket, or `CURL_SOCKET_BAD` for an address that the request may not have.
    fileprivate func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        if onlyPublicAddresses {
            let isPublic = unsafe withUnsafePointer(to: &address.pointee.addr) { unsafe IPAddress($0)?.isPublic ?? false }
            guard isPublic else { return CURL_SOCKET_BAD }
        }
        hasOpenedSocket = true
        return unsafe socket(address.pointee.family, address.pointee.socktype, address.pointee.protocol)
    }

    /// - Parameter line: A status line, a field or the empty line at the end, with its line break.
    /// - Returns: Whether to continue.
    fileprivate func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headerByteCount += line.count
        guard headerByteCount <= Self.maximumHeaderByteCount else { return false }
        if unsafe line.starts(with: "HTTP/".utf8) {
            headers = HTTPHeaders()  // the fields of an interim response (1xx) do not belong to the response
        } else {
            unsafe headers.append(line: line)
        }
        return true
    }

    /// - Returns: Whether to continue.
    fileprivate func receive(bodyPart part: UnsafeRawBufferPointer) -> Bool {
        guard part.count <= maximumBodyByteCount - body.count else { return false }
        unsafe body.append(contentsOf: part)
        return true
    }

    fileprivate static func of(userData: UnsafeMutableRawPointer) -> Transfer {
        unsafe Unmanaged<Transfer>.fromOpaque(userData).takeUnretainedValue()
    }
}

// MARK: - Setting up the handle

extension Transfer {
    private func set(_ request: HTTPRequest) throws(HTTPError) {
        // libcurl takes C strings: a NUL would truncate them, and a line break would inject a header.
        guard request.url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw HTTPError(.invalidURL, requestMayHaveArrived: false)
        }
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_URL, request.url)
        try set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.wholeMilliseconds)
        if let body = request.body ?? (request.method == .post ? [] : nil) {
            try set(CURLOPT_POST, 1)
            try setCopied(body: body)
        }
        try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        try setHeaders(request.headers)
    }

    private func setCopied(body: [UInt8]) throws(HTTPError) {
        try check(unsafe clibcurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
        // An empty array may lack an address. libcurl would then read the standard input.
        guard !body.isEmpty else { return try set(CURLOPT_COPYPOSTFIELDS, "") }
        try check(unsafe body.withUnsafeBytes { unsafe clibcurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) })
    }

    private func set(_ configuration: HTTPClient.Configuration) throws(HTTPError) {
        try set(CURLOPT_USERAGENT, Self.userAgent)
        try set(CURLOPT_PROXY, "")  // overrides a proxy of the environment
        // gorush and Waku nodes use HTTP/1.1, and the limits assume that requests do not share a connection at the same time.
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try set(CURLOPT_TCP_NODELAY, 1)
        try set(CURLOPT_NOSIGNAL, 1)  // no SIGALRM for name resolution: we are not the only thread
        try set(CURLOPT_MAXLIFETIME_CONN, Self.maximumConnectionAge)
        try set(CURLOPT_DNS_CACHE_TIMEOUT, Self.maximumAddressAge)
        // A resumed session is not verified again: an expired certificate would only be noticed after a restart of this program.
        try set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        if let file = configuration.certificateAuthorityFile { try set(CURLOPT_CAINFO, file) }
    }

    private func setHeaders(_ headers: [(name: String, value: String)]) throws(HTTPError) {
        // A name with a colon and no value removes a header that libcurl would add. With `Expect`, libcurl would wait a second for
        // "100 Continue" from a server that does not support it.
        var lines = ["Expect:"]
        if !headers.contains(where: { $0.name.lowercased() == "content-type" }) { lines.append("Content-Type:") }
        for (name, value) in headers {
            guard HTTPHeaders.isSendable(name: name, value: value) else { throw HTTPError(.invalidHeader, requestMayHaveArrived: false) }
            lines.append(value.isEmpty ? name + ";" : name + ": " + value)
        }
        for line in lines {
            guard let longer = unsafe curl_slist_append(headerLines, line) else {
                throw HTTPError(CURLE_OUT_OF_MEMORY, requestMayHaveArrived: false)
            }
            unsafe headerLines = longer
        }
        try check(unsafe clibcurl_set_list(easy, CURLOPT_HTTPHEADER, headerLines))
    }

    private func setCallbacks() throws(HTTPError) {
        let userData = unsafe Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_PRIVATE, CURLOPT_PREREQDATA, CURLOPT_OPENSOCKETDATA, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA] {
            try check(unsafe clibcurl_set_pointer(easy, option, userData))
        }
        try check(
            unsafe clibcurl_set_prerequest_callback(easy) { userData, _, _, _, _ in
                guard let userData = unsafe userData else { return CURL_PREREQFUNC_ABORT }
                return unsafe Transfer.of(userData: userData).requestStarts() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            })
        try check(
            unsafe clibcurl_set_socket_callback(easy) { userData, _, address in
                guard let userData = unsafe userData, let address = unsafe address else { return CURL_SOCKET_BAD }
                return unsafe Transfer.of(userData: userData).openSocket(to: address)
            })
        try check(
            unsafe clibcurl_set_data_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, _, count, userData in
                guard let userData = unsafe userData else { return 0 }
                let line = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                return unsafe Transfer.of(userData: userData).receive(headerLine: line) ? count : 0
            })
        try check(
            unsafe clibcurl_set_data_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, _, count, userData in
                guard let userData = unsafe userData else { return 0 }
                let part = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                return unsafe Transfer.of(userData: userData).receive(bodyPart: part) ? count : 0
            })
    }

    private func setConnection(of request: HTTPRequest) throws(HTTPError) {
        if let lane = request.lane {
            try unsafe lanes.enter(lane, with: easy, at: .now)
            self.lane = lane
        }
        // A kept connection may be from a request whose addresses were not checked.
        guard request.isSeparate || request.onlyPublicAddresses else { return }
        try set(CURLOPT_FRESH_CONNECT, 1)
        try set(CURLOPT_FORBID_REUSE, 1)
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPError) {
        try check(unsafe clibcurl_set_long(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(HTTPError) {
        try check(unsafe clibcurl_set_string(easy, option, value))
    }

    private func check(_ code: CURLcode) throws(HTTPError) {
        guard code == CURLE_OK else { throw HTTPError(code, requestMayHaveArrived: false) }
    }
}
