/** Call that peers pass to the handler of the echo service, except its input. */
export const HANDLER_CALL = {
  id: 'call',
  payer: 'nobody',
  terms: undefined,
  charge: () => {},
  meter: () => true,
  signal: new AbortController().signal,
}
