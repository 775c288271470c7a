import type { SandboxPlace } from '../sandbox/start.ts'

/** Message of a worker to the primary process. */
export type WorkerMessage =
  | { readonly hub: 'hello' }
  | { readonly hub: 'opened' }
  | { readonly hub: 'ready'; readonly port: number; readonly lease: string }
  | { readonly hub: 'failed'; readonly message: string; readonly misconfigured: boolean }
  | { readonly hub: 'counted?'; readonly question: number }
  | { readonly hub: 'failing'; readonly origin: NodeJS.UncaughtExceptionOrigin }

/** Message of the primary process to a worker. */
export type PrimaryMessage =
  | { readonly hub: 'place'; readonly sandbox: SandboxPlace | undefined }
  | { readonly hub: 'listen' }
  | { readonly hub: 'counted'; readonly question: number; readonly text: string }
  | { readonly hub: 'replaced' }
