import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let pushRequests: [Rule] = [
        Rule(
            "push.accepted", .must, .accepted, "PROTOCOL.md §9",
            "A push request with the right token has a report of success that names the installation.",
            histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            let reply = try await play.client().push(to: alice)
            try reply.expectReports(nil)
            let report = reply.payload.reports[0]
            try expect(report.error == .unknown, "a success carries the error \(report.error.name)")
            try expect(report.publicKey == alice.hash.bytes, "public_key is not that of the request")
            try expect(report.installationID == alice.installationID, "installation_id is not that of the request")
        },
        Rule(
            "push.wrong-token", .must, .validation, "PROTOCOL.md §9",
            "A push request with another access token is WRONG_TOKEN.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            let token = alice.accessToken
            let others = [
                play.uuid(), alice.former.accessToken, "", token + "0", String(token.dropLast()), token.withOtherDigit(at: 0),
                token.withOtherDigit(at: 35), token.uppercased(), "{\(token)}",
            ]
            // A token of digits only is the same in capitals.
            for other in others where other != token {
                try await play.client().push(to: alice) { $0.accessToken = AccessToken(other) }.expectReports(.wrongToken)
            }
        },
        Rule(
            "push.not-registered", .must, .accepted, "PROTOCOL.md §9",
            "A push request for an unknown key, or for an unknown installation of a known key, is NOT_REGISTERED.",
            histories: RegistrationHistory.allCases
        ) { play in
            try await play.client().push(to: play.client()).expectReports(.notRegistered)
            let alice = try await play.registeredClient()
            let other = play.uuid()
            try await play.client().push(to: alice) { $0.installationID = other }.expectReports(.notRegistered)
        },
        Rule(
            "push.report-names", .must,
            .field("PushNotificationReport", "`installation_id`: the `installation_id` of the user being notified."), "PROTOCOL.md §9",
            "Each report, also that of a refusal, has the public_key and the installation_id of its notification.",
            histories: RegistrationHistory.allCases
        ) { play in
            let (alice, bob, wrong, other) = (try await play.registeredClient(), play.client(), play.uuid(), play.uuid())
            let notifications = [
                bob.notification(to: alice) { $0.accessToken = AccessToken(wrong) }, bob.notification(to: play.client()),
                bob.notification(to: alice) { $0.installationID = other }, bob.notification(to: alice),
            ]
            let reply = try await bob.push(notifications)
            try expect(reply.payload.reports.count == 4, "expected 4 reports, received \(reply.payload.reports.count)")
            for (notification, report) in zip(notifications, reply.payload.reports) {
                let outcome = report.success ? "a success" : report.error.name
                try expect(report.publicKey == notification.publicKey, "public_key of \(outcome) is not that of the notification")
                try expect(
                    report.installationID == notification.installationID, "installation_id of \(outcome) is not that of the notification")
            }
        },
        Rule(
            "push.foreign-installation", .must, .validation, "PROTOCOL.md §9",
            "The token of one installation does not open another one of the same key."
        ) { play in
            let alice = try await play.registeredClient()
            let second = (installation: play.uuid(), token: play.uuid())
            try await alice.register {
                $0.installationID = second.installation
                $0.accessToken = AccessToken(second.token)
            }.expectSuccess()
            try await play.client().push(to: alice) { $0.accessToken = AccessToken(second.token) }.expectReports(.wrongToken)
        },
        Rule(
            "push.reports", .must, .response, "PROTOCOL.md §9",
            "A request with several notifications has one report for each, in their order."
        ) { play in
            let (alice, carol, bob) = (try await play.registeredClient(), try await play.registeredClient(), play.client())
            let stranger = play.client()
            let notifications = [
                bob.notification(to: alice), bob.notification(to: stranger),
                bob.notification(to: carol) { $0.accessToken = AccessToken(alice.accessToken) }, bob.notification(to: carol),
            ]
            let reply = try await bob.push(notifications)
            try reply.expectReports(nil, .notRegistered, .wrongToken, nil)
            try expect(
                reply.payload.reports.map(\.publicKey) == [alice, stranger, carol, carol].map { $0.hash.bytes },
                "the reports are not in the order of the notifications")
        },
        Rule(
            "push.many", .must, .response, "PROTOCOL.md §9",
            "A request with 200 notifications, for the devices of a group, gets one response."
        ) { play in
            let (alice, bob, stranger) = (try await play.registeredClient(), play.client(), play.client())
            let notifications = (0..<200).map { number in
                number == 150 ? bob.notification(to: alice) : bob.notification(to: stranger) { $0.installationID = "\(number)" }
            }
            let reports = try await bob.push(notifications).payload.reports
            try expect(reports.count == 200, "expected 200 reports, received \(reports.count)")
            try expect(reports.enumerated().allSatisfy { $0.element.success == ($0.offset == 150) }, "a report is in the wrong place")
        },
        Rule(
            "push.type-zero", .ours, .response, "PROTOCOL.md §9",
            "A notification without type has a report without success and with UNKNOWN_ERROR_TYPE."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let reply = try await bob.push([bob.notification(to: alice) { $0.type = .unknown }, bob.notification(to: alice)])
            try play.expect(
                reply.reported == [.unknown, nil], orDeparts: .omitsReportOfTypeZero, if: reply.reported == [nil],
                "expected a report with UNKNOWN_ERROR_TYPE and a success, received \(reply.reported.count) reports")
        },
        Rule(
            "push.type-later", .ours, .accepted, "PROTOCOL.md §9",
            "A notification of a type that the server does not know is accepted like a MESSAGE."
        ) { play in
            let alice = try await play.registeredClient()
            try await play.client().push(to: alice) { $0.type = PushNotificationType(rawValue: 77) }.expectReports(nil)
        },
        Rule(
            "push.no-message-id", .ours, .response, "PROTOCOL.md §9",
            "A push request without message_id gets no reply."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            try await play.expectSilence(toward: bob) {
                try await bob.send(bob.request([bob.notification(to: alice)], []), .pushNotificationRequest)
            }
        },
        Rule(
            "push.topics", .ours, nil, "PROTOCOL.md §2",
            "The server reads push requests on its partitioned topic and on its personal one."
        ) { play in
            let alice = try await play.registeredClient()
            for topic in [TopicName.partitioned(play.server), .personal(play.server)] {
                let bob = play.client()
                try await bob.push([bob.notification(to: alice)], on: topic).expectReports(nil)
            }
        },
        Rule(
            "push.repeated", .ours, .response, "PROTOCOL.md §9",
            "A push request with the same bytes, sent again, gets a response with the same reports."
        ) { play in
            let (alice, bob, messageID) = (try await play.registeredClient(), play.client(), play.bytes(32))
            let data = bob.signed(bob.request([bob.notification(to: alice)], messageID), .pushNotificationRequest)
            try await bob.pushResponse(to: messageID) { try await bob.send(data: data) }.expectReports(nil)
            do {
                try await bob.pushResponse(to: messageID) { try await bob.send(data: data) }.expectReports(nil)
            } catch let missing as Overdue {
                try expect(bob.mailbox.count == 1, "expected the same reports, received another message")
                throw missing.departing(.ignoresRepeatedRequests)
            }
            try play.expect(true, orDeparts: .ignoresRepeatedRequests, if: false, "")
        },
        Rule(
            "push.corrected", .must, .validation, "PROTOCOL.md §9",
            "After WRONG_TOKEN the same message_id with the right token is a success."
        ) { play in
            let (alice, bob, messageID, wrong) = (try await play.registeredClient(), play.client(), play.bytes(32), play.uuid())
            try await bob.push([bob.notification(to: alice) { $0.accessToken = AccessToken(wrong) }], messageID: messageID)
                .expectReports(.wrongToken)
            // Another throw-away key, so that no late echo of the first response counts as the second.
            let carol = play.client()
            try await carol.push([carol.notification(to: alice)], messageID: messageID).expectReports(nil)
        },
        Rule(
            "push.filtered-success", .ours, .accepted, "PROTOCOL.md §9",
            "A push that the owner's filters stop is reported as success: the sender learns nothing."
        ) { play in
            let chat = play.bytes(64)
            let alice = try await play.registeredClient { $0.blockedChatList = [chat] }
            try await play.client().push(to: alice) { $0.chatID = chat }.expectReports(nil)
            let sleeping = try await play.registeredClient { $0.enabled = false }
            try await play.client().push(to: sleeping).expectReports(nil)
        },
        Rule(
            "push.two-mistakes", .ours, .validation, "PROTOCOL.md §9",
            "A missing type decides before the installation, that before the access token, and that before the filters."
        ) { play in
            let (chat, wrong, other) = (play.bytes(64), AccessToken(play.uuid()), play.uuid())
            let alice = try await play.registeredClient { $0.blockedChatList = [chat] }
            let sleeping = try await play.registeredClient { $0.enabled = false }
            let pairs: [(name: String, owner: Client, error: ReportError, make: @Sendable (inout PushNotification) -> Void)] = [
                ("no type and an unknown installation", alice, .unknown, { ($0.type, $0.installationID) = (.unknown, other) }),
                ("no type and a wrong token", alice, .unknown, { ($0.type, $0.accessToken) = (.unknown, wrong) }),
                ("no type and a blocked chat", alice, .unknown, { ($0.type, $0.chatID) = (.unknown, chat) }),
                ("a wrong token and a blocked chat", alice, .wrongToken, { ($0.accessToken, $0.chatID) = (wrong, chat) }),
                ("a wrong token and a device that is not enabled", sleeping, .wrongToken, { $0.accessToken = wrong }),
            ]
            for (name, owner, error, make) in pairs {
                let reported = try await play.client().push(to: owner, make).reported
                let found = reported.first.map { $0?.name ?? "success" } ?? "no report"
                let sentence = "\(name): expected \(error.name), received \(found)"
                if error == .unknown {
                    try play.expect(reported == [error], orDeparts: .omitsReportOfTypeZero, if: reported.isEmpty, sentence)
                } else {
                    try expect(reported == [error], sentence)
                }
            }
        },
        Rule(
            "push.decided-anew", .ours, .validation, "PROTOCOL.md §9",
            "A push request that failed, sent again with the same bytes after a registration, is decided by the new state."
        ) { play in
            let (alice, bob, messageID, other) = (play.client(), play.client(), play.bytes(32), play.uuid())
            let data = bob.signed(bob.request([bob.notification(to: alice)], messageID), .pushNotificationRequest)
            try await bob.pushResponse(to: messageID) { try await bob.send(data: data) }.expectReports(.notRegistered)
            let steps: [(version: UInt64, token: String, error: ReportError?)] = [(1, other, .wrongToken), (2, alice.accessToken, nil)]
            for (version, token, error) in steps {
                try await alice.register { ($0.version, $0.accessToken) = (version, AccessToken(token)) }.expectSuccess()
                // An echo of the earlier response may arrive first.
                let isAnew: @Sendable (PushNotificationResponse) -> Bool = { response in
                    response.reports.map(\.success) == [error == nil] && response.reports[0].error == error ?? .unknown
                }
                do {
                    try await bob.pushResponse(to: messageID, where: isAnew) { try await bob.send(data: data) }
                } catch let missing as Overdue {
                    try expect(bob.mailbox.count == 1, "expected \(error?.name ?? "success"), received an earlier report")
                    throw missing.departing(.ignoresRepeatedRequests)
                }
            }
            try play.expect(true, orDeparts: .ignoresRepeatedRequests, if: false, "")
        },
    ]
}

extension String {
    /// The text with another hex digit at an offset.
    fileprivate func withOtherDigit(at offset: Int) -> String {
        let place = index(startIndex, offsetBy: offset)
        return self[..<place] + (self[place] == "7" ? "8" : "7") + self[place...].dropFirst()
    }
}
