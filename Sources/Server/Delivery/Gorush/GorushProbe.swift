import HTTPClient

/// What probing a gorush found, before a server relies on it.
package struct GorushProbe: Sendable {
    /// The URL without user name and password.
    package var name: String
    /// Why gorush accepts no pushes, or nil if it does.
    package var issue: String?
    /// The settings that lose or delay pushes.
    package var warnings: [String]
}

extension DeliveryConfiguration {
    /// Probes each gorush that a route uses. Doesn't post any push.
    package func probe() async -> [GorushProbe] {
        var asked: [Endpoint] = []
        var probes: [GorushProbe] = []
        for route in allRoutes {
            let endpoint = endpoint(of: route)
            guard !asked.contains(where: { $0.isSameGorush(as: endpoint) }) else { continue }
            asked.append(endpoint)
            let http = HTTPClient(configuration: .init(certificateAuthorityFile: endpoint.certificateAuthorityFile))
            defer { http.shutdown() }
            let uses = allRoutes.filter { self.endpoint(of: $0).isSameGorush(as: endpoint) }
            let name = endpoint.publicURL
            let client = GorushClient(http: http, endpoint: endpoint, probeTimeout: probeTimeout, trustsSyncMode: trustsSyncMode)
            var probe = GorushProbe(name: name, issue: nil, warnings: [])
            switch await client.probe() {
            case .instance(let instance):
                let warnings = uses.flatMap {
                    instance.warnings(for: .init(platform: $0.platform, environment: endpoint.environment, routeCount: uses.count))
                }
                probe.warnings = Set(warnings).sorted()
                probe.issue = instance.configurationFault
            case .silent:
                if trustsSyncMode { probe.warnings = [GorushProfile.trustWarning] } else { probe.issue = GorushProfile.hiddenIssue }
            case .half: probe.issue = GorushProfile.halfIssue
            case .unusable(let issue): probe.issue = issue
            case .unreachable(let reason): probe.issue = reason.proxyStatus == nil ? "no response" : reason.issue
            }
            // A push needs a connection that stays open.
            if probe.issue == nil { probe.issue = await client.checkConnection() }
            probes.append(probe)
        }
        return probes
    }
}
