/** Default deadline of a call, in seconds. */
export const DEADLINE_SECONDS = 30

/** Returns the deadline for calls of an endpoint, in seconds. */
export const deadlineOf = (endpoint: { readonly deadlineSeconds?: number | undefined }): number =>
  endpoint.deadlineSeconds ?? DEADLINE_SECONDS
