export interface FlagOptions {
  readonly profile: string
  readonly sandbox: boolean
  /** False: processes share memory by files in the temporary folder, which is slower. */
  readonly sharedMemory: boolean
  readonly proxyUrl: string
}

/** Nothing that speaks, stores or looks for something without being asked by a page. */
const SILENT = [
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-update',
  '--disable-crash-reporter',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-notifications',
  '--disable-print-preview',
  '--disable-speech-api',
  '--disable-sync',
  '--metrics-recording-only',
  '--mute-audio',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-pings',
  '--password-store=basic',
  '--use-mock-keychain',
  '--disable-features=DialMediaRouteProvider,MediaRouter,OptimizationHints,Translate,InterestFeed' +
    'ContentSuggestions,AutofillServerCommunication,CertificateTransparencyComponentUpdater',
]

/** Text is what is sold: no pictures are loaded, nothing is drawn by a graphics card. */
const PLAIN = [
  '--blink-settings=imagesEnabled=false',
  '--disable-gpu',
  '--disable-webgl',
  '--hide-scrollbars',
]

/** Every page works as if somebody looked at it. */
const AWAKE = [
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
]

/**
 * What a browser is started with. No byte may leave it but by a proxy: without `<-loopback>` it
 * connects to this machine and to 169.254/16 by itself, without the WebRTC policies it sends UDP,
 * and the resolver rules keep names that it would look up past the proxy from being looked up.
 */
export const chromiumFlags = ({
  profile,
  sandbox,
  sharedMemory,
  proxyUrl,
}: FlagOptions): string[] => [
  '--headless',
  '--remote-debugging-pipe',
  `--user-data-dir=${profile}`,
  `--proxy-server=${proxyUrl}`,
  '--proxy-bypass-list=<-loopback>',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  ...(sandbox ? [] : ['--no-sandbox']),
  ...(sharedMemory ? [] : ['--disable-dev-shm-usage']),
  ...SILENT,
  ...PLAIN,
  ...AWAKE,
]
