import GatewayHTTP
package import HTTPClient
package import NextcloudOrigin
package import NextcloudProxy
package import SoftphonePNM
import StatusCrypto
import Store

/// The section `gateways`.
package struct GatewaySettings: Sendable {
    /// The push proxy of Nextcloud.
    package struct Proxy: Sendable {
        package var configuration: NextcloudProxy.Configuration
        /// Hosts that may have private addresses.
        package var proofHosts: Set<String>
    }

    /// The server of Nextcloud's apps.
    package struct Origin: Sendable {
        package var configuration: NextcloudOrigin.Configuration
        /// The endpoint of the backend that identifies a client.
        package var authenticationURL: String
    }

    package var listen: ListenAddress
    package var trustedProxies: Set<IPAddress>
    package var nextcloudProxy: Proxy?
    package var nextcloudOrigin: Origin?
    package var softphoneApps: [String: SoftphoneApp]?
}

extension Settings {
    /// - Returns: The gateways' settings; nil without `gateways.listen`.
    static func gateways(_ reader: inout SettingsReader) -> GatewaySettings? {
        let listen = reader.optional("gateways.listen") {
            $0.address("gateways.listen", default: ListenAddress(host: "127.0.0.1", port: 8070))
        }
        let trustedProxies = reader.list(
            "gateways.trustedProxies", default: [], expected: "a list of IP addresses", parse: { IPAddress($0) }, show: { $0.description })
        let proxy = nextcloudProxy(&reader)
        let origin = nextcloudOrigin(&reader)
        let apps = softphoneApps(&reader)
        guard let listen else { return nil }
        return GatewaySettings(
            listen: listen, trustedProxies: Set(trustedProxies), nextcloudProxy: proxy, nextcloudOrigin: origin, softphoneApps: apps)
    }

    private static func nextcloudProxy(_ reader: inout SettingsReader) -> GatewaySettings.Proxy? {
        let section = "gateways.nextcloudProxy"
        guard reader.has(section: section) else { return nil }
        var configuration = NextcloudProxy.Configuration(
            apps: reader.names(below: "\(section).apps").sorted { (Int($0) ?? 0) < (Int($1) ?? 0) }.compactMap {
                appRule("\(section).apps.\($0)", &reader)
            })
        if configuration.apps.isEmpty { reader.report("\(section).apps: expected at least one app") }
        configuration.firstMissGrace = reader.duration(
            "\(section).firstMissGrace", default: configuration.firstMissGrace, in: .zero...Duration.seconds(3_600))
        configuration.deleteUnknownStatus = reader.integer(
            "\(section).deleteUnknownStatus", default: configuration.deleteUnknownStatus, in: 200...403)
        if ![200, 403].contains(configuration.deleteUnknownStatus) { reader.report("\(section).deleteUnknownStatus: expected 403 or 200") }
        configuration.subscriptionKeys = reader.list(
            "\(section).subscriptionKeys", default: [], expected: "a list of keys", parse: { $0.isEmpty ? nil : $0 },
            show: { _ in "REDACTED" })
        configuration.registrationsPerMinute = reader.integer(
            "\(section).registrationsPerMinute", default: configuration.registrationsPerMinute, in: 0...1_000_000)
        configuration.maximumTokenNumber = reader.integer(
            "\(section).maximumTokenNumber", default: configuration.maximumTokenNumber, in: 1...1_000_000_000)
        let proofHosts = reader.list(
            "\(section).proofHosts", default: [], expected: "a list of hosts without port", parse: parseHost, show: { $0 })
        return GatewaySettings.Proxy(configuration: configuration, proofHosts: Set(proofHosts))
    }

    private static func appRule(_ key: String, _ reader: inout SettingsReader) -> AppRule? {
        let userAgent = reader.optionalString("\(key).userAgent")
        let token = reader.choice("\(key).token", default: AppRule.TokenKind.any)
        let platform = reader.optionalChoice("\(key).platform", of: GatewayNotification.Platform.self)
        let topic = reader.optionalString("\(key).topic")
        let voipTopic = reader.optionalString("\(key).voipTopic")
        if let userAgent, (try? Regex(userAgent)) == nil { reader.report("\(key).userAgent: expected a regular expression") }
        guard let platform else {
            reader.report("\(key).platform: expected one of ios, android")
            return nil
        }
        noteTopic(topic, of: platform, key, &reader)
        if platform == .android, voipTopic != nil { reader.report("\(key).voipTopic: only ios has topics") }
        return AppRule(userAgent: userAgent, token: token, platform: platform, topic: topic, voipTopic: voipTopic)
    }

    private static func nextcloudOrigin(_ reader: inout SettingsReader) -> GatewaySettings.Origin? {
        let section = "gateways.nextcloudOrigin"
        guard reader.has(section: section) else { return nil }
        for (key, what) in [
            ("serverURL", "the URL of the server that the apps know"), ("authentication.url", "where the backend is asked"),
        ]
        where !reader.isSet("\(section).\(key)") {
            reader.report("\(section).\(key): expected \(what)")
        }
        if !reader.isSet("\(section).backendToken"), !reader.isSet("\(section).backendTokenFile") {
            reader.report("\(section).backendTokenFile: expected the file with what the backend shows at /notify")
        }
        let serverURL = reader.url("\(section).serverURL")
        let authenticationURL = reader.url("\(section).authentication.url")
        let backendToken = reader.secret("\(section).backendToken")
        let allowsLocalProxies = reader.bool("\(section).allowLocalProxies", default: false)
        let padding = reader.choice("\(section).padding", default: RSAPadding.oaep)
        let pushServer = reader.url("\(section).pushServer")
        guard let serverURL, let authenticationURL, let backendToken else { return nil }
        return GatewaySettings.Origin(
            configuration: NextcloudOrigin.Configuration(
                serverURL: serverURL, backendToken: backendToken, allowsLocalProxies: allowsLocalProxies, padding: padding,
                pushServer: pushServer.map { ProxyURL(trusted: $0) }),
            authenticationURL: authenticationURL)
    }

    private static func softphoneApps(_ reader: inout SettingsReader) -> [String: SoftphoneApp]? {
        let section = "gateways.softphone"
        guard reader.has(section: section) else { return nil }
        var apps: [String: SoftphoneApp] = [:]
        // An id may hold dots, as bundle ids do.
        let names = ["platform", "topic", "pushkit", "silentContentTypes"]
        for id in reader.names(below: "\(section).apps", before: names) {
            let key = "\(section).apps.\(id)"
            let platform = reader.optionalChoice("\(key).platform", of: GatewayNotification.Platform.self)
            let topic = reader.optionalString("\(key).topic")
            let isPushKit = reader.bool("\(key).pushkit", default: false)
            let silent = reader.list(
                "\(key).silentContentTypes", default: [], expected: "a list of content types", parse: { $0.isEmpty ? nil : $0 },
                show: { $0 })
            guard let platform else {
                reader.report("\(key).platform: expected one of ios, android")
                continue
            }
            noteTopic(topic, of: platform, key, &reader)
            if platform == .android, isPushKit { reader.report("\(key).pushkit: only ios has PushKit") }
            apps[id] = SoftphoneApp(platform: platform, topic: topic, isPushKit: isPushKit, silentContentTypes: Set(silent))
        }
        if apps.isEmpty { reader.report("\(section).apps: expected at least one app") }
        return apps
    }

    private static func noteTopic(
        _ topic: String?, of platform: GatewayNotification.Platform, _ key: String, _ reader: inout SettingsReader
    ) {
        switch (platform, topic) {
        case (.ios, nil): reader.report("\(key).topic: expected a bundle id, for ios needs one")
        case (.android, .some): reader.report("\(key).topic: only ios has topics")
        case (.ios, .some), (.android, nil): break
        }
    }

}
