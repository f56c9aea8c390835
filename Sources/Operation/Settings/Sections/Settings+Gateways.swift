import Bytes
package import HTTPClient
package import HTTPGateways
import ServerCrypto
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

    /// The server for Nextcloud's apps.
    package struct Origin: Sendable {
        package var configuration: NextcloudOrigin.Configuration
        /// The backend's endpoint that identifies a client.
        package var authenticationURL: String
    }

    package var listen: ListenAddress
    package var trustedProxies: Set<IPAddress>
    package var nextcloudProxy: Proxy?
    package var nextcloudOrigin: Origin?
    package var softphoneApps: [String: SoftphoneApp]?
}

extension Settings {
    /// - Returns: The gateways' settings, or nil without `gateways.listen`.
    static func gateways(_ reader: inout SettingsReader) -> GatewaySettings? {
        let listen = reader.optional("gateways.listen", .address)
        let trustedProxies = reader.list("gateways.trustedProxies", of: SettingType("IP addresses") { IPAddress($0) })
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
        if configuration.apps.isEmpty { reader.report("\(section).apps", "required: at least one app") }
        reader.update(&configuration.firstMissGrace, "\(section).firstMissGrace", .duration(from: .zero, to: .seconds(3_600)))
        reader.update(&configuration.deleteUnknownStatus, "\(section).deleteUnknownStatus", .integer(200...403))
        if ![200, 403].contains(configuration.deleteUnknownStatus) {
            reader.report("\(section).deleteUnknownStatus", "expected 403 or 200")
        }
        configuration.subscriptionKeys = reader.list("\(section).subscriptionKeys", of: .secret("keys"))
        reader.update(&configuration.registrationsPerMinute, "\(section).registrationsPerMinute", .integer(0...1_000_000))
        reader.update(&configuration.maximumTokenNumber, "\(section).maximumTokenNumber", .integer(1...1_000_000_000))
        let proofHosts = reader.list("\(section).proofHosts", of: .host("hosts without port"))
        return GatewaySettings.Proxy(configuration: configuration, proofHosts: Set(proofHosts))
    }

    private static func appRule(_ key: String, _ reader: inout SettingsReader) -> AppRule? {
        let userAgent = reader.optional("\(key).userAgent", .text)
        let token = reader.value("\(key).token", .choice, default: AppRule.TokenKind.any)
        let platform = platform(of: key, &reader)
        let topic = reader.optional("\(key).topic", .text)
        let voipTopic = reader.optional("\(key).voipTopic", .text)
        if let userAgent, (try? Regex(userAgent)) == nil { reader.report("\(key).userAgent", "expected a regular expression") }
        guard let platform else { return nil }
        noteTopic(topic, of: platform, key, &reader)
        if platform == .android, voipTopic != nil { reader.report("\(key).voipTopic", "only apps for ios have a topic") }
        return AppRule(userAgent: userAgent, token: token, platform: platform, topic: topic, voipTopic: voipTopic)
    }

    private static func nextcloudOrigin(_ reader: inout SettingsReader) -> GatewaySettings.Origin? {
        let section = "gateways.nextcloudOrigin"
        guard reader.has(section: section) else { return nil }
        for (key, what) in [
            ("serverURL", "the URL that users enter in the app"),
            ("authentication.url", "the URL of your backend's login check, such as http://127.0.0.1:9000/whoami"),
        ]
        where !reader.isSet("\(section).\(key)") {
            reader.report("\(section).\(key)", "required: \(what)")
        }
        if !reader.isSet("\(section).backendToken"), !reader.isSet("\(section).backendTokenFile") {
            reader.report("\(section).backendTokenFile", "required: the file with the bearer token that your backend sends to /notify")
        }
        let serverURL = reader.optional("\(section).serverURL", .url)
        let authenticationURL = reader.optional("\(section).authentication.url", .url)
        let backendToken = reader.secret("\(section).backendToken")
        let allowsLocalProxies = reader.value("\(section).allowLocalProxies", .bool, default: false)
        let padding = reader.value("\(section).padding", .choice, default: RSAPadding.oaep)
        let pushServer = reader.optional("\(section).pushServer", .url)
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
            let platform = platform(of: key, &reader)
            let topic = reader.optional("\(key).topic", .text)
            let isPushKit = reader.value("\(key).pushkit", .bool, default: false)
            let silent = reader.list("\(key).silentContentTypes", of: .text("content types"))
            guard let platform else { continue }
            noteTopic(topic, of: platform, key, &reader)
            if platform == .android, isPushKit { reader.report("\(key).pushkit", "only apps for ios have PushKit") }
            apps[id] = SoftphoneApp(platform: platform, topic: topic, isPushKit: isPushKit, silentContentTypes: Set(silent))
        }
        if apps.isEmpty { reader.report("\(section).apps", "required: at least one app") }
        return apps
    }

    /// Reads an app's platform, which must be set.
    private static func platform(of key: String, _ reader: inout SettingsReader) -> GatewayNotification.Platform? {
        let type = SettingType<GatewayNotification.Platform>.choice
        if !reader.isSet("\(key).platform") { reader.report("\(key).platform", "required: \(type.expected)") }
        return reader.optional("\(key).platform", type)
    }

    private static func noteTopic(
        _ topic: String?, of platform: GatewayNotification.Platform, _ key: String, _ reader: inout SettingsReader
    ) {
        switch (platform, topic) {
        case (.ios, nil): reader.report("\(key).topic", "required for platform ios: the bundle id of the app")
        case (.android, .some): reader.report("\(key).topic", "only apps for ios have a topic")
        case (.ios, .some), (.android, nil): break
        }
    }
}
