/** A complete HTTP response: a body of bytes or a stream is sent as it is, any other as JSON. */
export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}
