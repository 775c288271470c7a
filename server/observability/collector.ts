import type { Resource } from '@opentelemetry/resources'

/** OTLP collector, and what identifies this process there. */
export interface Collector {
  /** URL without a path such as `/v1/traces`, and without a final slash. */
  readonly url: string
  readonly resource: Resource
  readonly version: string
}
