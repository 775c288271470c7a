/** Size of the page in CSS pixels. */
export const VIEWPORT = { width: 1_280, height: 1_024 }

export interface FlagOptions {
  readonly profile: string
  readonly sandbox: boolean
  /** False if processes must share memory by temporary files, which is slower. */
  readonly sharedMemory: boolean
  readonly proxyUrl: string
}

/** Disables network traffic, storage and features not requested by a page. */
const NO_BACKGROUND_ACTIVITY = [
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

/** Disables images and GPU rendering: only text is sold. */
const TEXT_ONLY = [
  '--blink-settings=imagesEnabled=false',
  '--disable-gpu',
  '--disable-webgl',
  '--hide-scrollbars',
]

/** Disables throttling of background pages. */
const NO_THROTTLING = [
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
]

/**
 * Command-line flags of a browser. All traffic must use a proxy: without `<-loopback>` the browser
 * connects directly to this machine and to 169.254/16, without the WebRTC policies it sends UDP,
 * and without the resolver rules it looks up some names itself.
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
  ...NO_BACKGROUND_ACTIVITY,
  ...TEXT_ONLY,
  ...NO_THROTTLING,
]
