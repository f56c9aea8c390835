import CLibCurl

/// The kept connections of lanes (``HTTPRequest/lane``), in a separate pool for each lane.
///
/// libcurl calls such a pool a share object. It is not Sendable: it stays on the thread of `TransferLoop`.
@safe final class ConnectionLanes {
    /// A little longer than libcurl keeps an unused connection. libcurl closes it only when a request asks for a connection, which may
    /// never happen.
    private static let maximumIdleTime = Duration.seconds(120)

    @safe private struct Lane {
        let share: UnsafeMutableRawPointer
        var requestCount = 0
        var lastUse: ContinuousClock.Instant
    }

    private var lanes: [Int: Lane] = [:]

    deinit {
        for lane in lanes.values { unsafe curl_share_cleanup(lane.share) }
    }

    /// Lets a handle use a lane's connections, until ``leave(_:with:at:)``.
    func enter(_ number: Int, with easy: UnsafeMutableRawPointer, at now: ContinuousClock.Instant) throws(HTTPError) {
        guard var lane = lanes[number] ?? Self.newLane(at: now),
            unsafe clibcurl_set_pointer(easy, CURLOPT_SHARE, lane.share) == CURLE_OK
        else { throw HTTPError(CURLE_OUT_OF_MEMORY, requestMayHaveArrived: false) }
        lane.requestCount += 1
        lanes[number] = lane
    }

    private static func newLane(at now: ContinuousClock.Instant) -> Lane? {
        unsafe clibcurl_share_connections().map { unsafe Lane(share: $0, lastUse: now) }
    }

    /// Takes the lane from a handle, which keeps it even when it is reset (curl_easy_reset(3)).
    func leave(_ number: Int, with easy: UnsafeMutableRawPointer, at now: ContinuousClock.Instant) {
        unsafe clibcurl_set_pointer(easy, CURLOPT_SHARE, nil)
        lanes[number]?.requestCount -= 1
        lanes[number]?.lastUse = now
    }

    /// Closes the connections of lanes that no request has used for a while.
    func closeIdle(at now: ContinuousClock.Instant) {
        for (number, lane) in lanes where lane.requestCount == 0 && lane.lastUse + Self.maximumIdleTime <= now {
            unsafe curl_share_cleanup(lane.share)
            lanes[number] = nil
        }
    }
}
