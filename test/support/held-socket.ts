interface TcpHandle {
  readonly fd: number
  bind(address: string, port: number): number
  getsockname(name: { port?: number }): number
  close(): void
}
interface TcpWrap {
  readonly TCP: new (type: number) => TcpHandle
  readonly constants: { readonly SERVER: number }
}

/** Bound socket from which this process accepts nothing, as a supervisor holds it for a service. */
export interface HeldSocket {
  readonly fd: number
  readonly port: number
  readonly close: () => void
}

/** Opens a socket on 127.0.0.1. `net.Server` would accept connections itself. */
export function holdSocket(): HeldSocket {
  const { binding } = process as unknown as { binding: (name: 'tcp_wrap') => TcpWrap }
  const { TCP, constants } = binding('tcp_wrap')
  const handle = new TCP(constants.SERVER)
  const name: { port?: number } = {}
  const failure = handle.bind('127.0.0.1', 0) || handle.getsockname(name)
  if (failure !== 0) throw new Error(`no socket could be opened: ${failure}`)
  return { fd: handle.fd, port: name.port!, close: () => handle.close() }
}
