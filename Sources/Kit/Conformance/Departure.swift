import Synchronization

/// Reference behaviour that differs from a rule.
enum Departure: String, CaseIterable, Sendable {
    case repliesToUndecryptable = "replied with MALFORMED_MESSAGE"
    case refusesVersionZeroAsOld = "version 0 is VERSION_MISMATCH"
    case refusesTypeZeroAsMalformed = "token type 0 is MALFORMED_MESSAGE"
    case acceptsUnknownTypes = "unknown token types are accepted"
    case acceptsMissingBundleID = "iOS devices need no apn_topic"
    case refusesOtherInstallationIDs = "installation ids that are no UUIDs are MALFORMED_MESSAGE"
    case refusesHighVersions = "versions from 2^63 on are refused"
    case forgetsUnknownInstallations = "the version of an unregistered, never registered installation is not kept"
    case repliesWithEmptyList = "replied with an empty list"
    case omitsServerKey = "server_public_key is empty"
    case listensWithoutPrefix = "the name of the query topic has no 0x"
    case hidesTokenByFlagOnly = "only allow_from_contacts_only hides the access token; allowed_key_list alone does not"
    case ignoresEnabled = "devices that are not enabled are notified"
    case deduplicatesRequests = "a message_id notifies a device again; only the same request does not"
    case postsToEachInstallation = "each installation of a key with the same device token and app is notified"
    case omitsReportOfTypeZero = "a notification without type has no report"
    case ignoresRepeatedRequests = "a repeated request gets no reply"
    case postsBundleIDForAndroid = "a notification for Android has the registered topic"
    case postsOwnData = "data has the fields encryptedMessage, chatId and publicKey"
    case dropsUnsignedFrames = "unsigned frames are dropped"
    case believesFrames = "the signer of the frame counts as the sender of an unsigned message"

    /// The sentence for the verdict.
    var sentence: String { rawValue + ", as in the reference" }
}

/// What a whole run shows: where the server showed a ``Departure`` and where it did not, and what was wrong with envelopes.
///
/// A server departs only if it does so every time. If it follows a rule once and departs later, that is a fault.
final class Observations: Sendable {
    private struct State {
        /// For each departure, a rule in which the server did what is right instead.
        var following: [Departure: String] = [:]
        var departing: [String: [Departure]] = [:]
        /// For each rule about envelopes, what was wrong first.
        var flaws: [String: String] = [:]
    }

    private let state = Mutex(State())

    func record(_ departure: Departure, departs: Bool, in rule: String) {
        state.withLock { state in
            if !departs {
                state.following[departure] = rule
            } else if state.departing[rule]?.contains(departure) != true {
                state.departing[rule, default: []].append(departure)
            }
        }
    }

    func record(flaw: String, against rule: String) {
        state.withLock { $0.flaws[rule] = $0.flaws[rule] ?? flaw }
    }

    /// Returns the verdict on a rule in which no expectation failed. Valid once the run is over.
    func verdict(on rule: String) -> Verdict {
        state.withLock { state in
            if let flaw = state.flaws[rule] { return .fail(flaw) }
            let departures = state.departing[rule] ?? []
            for departure in departures {
                guard let other = state.following[departure] else { continue }
                return .fail("at times \(departure.sentence), but not always\(other == rule ? "" : ": \(other) saw the opposite")")
            }
            return departures.isEmpty ? .pass : .departs(departures.map(\.sentence).joined(separator: "; "))
        }
    }
}
