/** Events of a simulation in the order of their times, which are in milliseconds. */
export class EventQueue {
  now = 0
  /** Binary heap: no event is earlier than its parent, at half its index. */
  readonly #times: number[] = [0]
  readonly #actions: (() => void)[] = [() => {}]

  after(ms: number, action: () => void): void {
    const time = this.now + ms
    let at = this.#times.length
    for (; at > 1 && this.#times[at >> 1]! > time; at >>= 1) this.#move(at >> 1, at)
    this.#times[at] = time
    this.#actions[at] = action
  }

  /** Runs the events up to a time. */
  runUntil(time: number): void {
    while (this.#times.length > 1 && this.#times[1]! <= time) {
      this.now = this.#times[1]!
      const action = this.#actions[1]!
      this.#removeFirst()
      action()
    }
    this.now = time
  }

  #removeFirst(): void {
    const last = this.#times.pop()!
    const action = this.#actions.pop()!
    const { length } = this.#times
    if (length === 1) return
    let at = 1
    for (let child = 2; child < length; child = 2 * at) {
      if (child + 1 < length && this.#times[child + 1]! < this.#times[child]!) child++
      if (this.#times[child]! >= last) break
      this.#move(child, at)
      at = child
    }
    this.#times[at] = last
    this.#actions[at] = action
  }

  #move(from: number, to: number): void {
    this.#times[to] = this.#times[from]!
    this.#actions[to] = this.#actions[from]!
  }
}

/** Integral over time of a number, such as the servers that work or the calls in flight. */
export class TimeIntegral {
  readonly #events: EventQueue
  #value = 0
  #changedAt = 0
  #sum = 0

  constructor(events: EventQueue) {
    this.#events = events
  }

  get value(): number {
    return this.#value
  }

  /** Integral up to now. */
  get total(): number {
    return this.#sum + this.#value * (this.#events.now - this.#changedAt)
  }

  add(change: number): void {
    this.#sum = this.total
    this.#changedAt = this.#events.now
    this.#value += change
  }
}

interface Work {
  readonly ms: number
  readonly done: () => void
}

/** Servers with one queue, first come, first served: a thread, or the cores of a machine. */
export class Station {
  readonly #events: EventQueue
  readonly #servers: number
  readonly #waiting = new Fifo<Work>()
  readonly #busy: TimeIntegral

  constructor(events: EventQueue, servers: number) {
    this.#events = events
    this.#servers = servers
    this.#busy = new TimeIntegral(events)
  }

  /** Time that its servers have worked, in milliseconds. */
  get workMs(): number {
    return this.#busy.total
  }

  serve(ms: number, done: () => void): void {
    if (this.#busy.value < this.#servers) this.#begin({ ms, done })
    else this.#waiting.push({ ms, done })
  }

  #begin({ ms, done }: Work): void {
    this.#busy.add(1)
    this.#events.after(ms, () => {
      this.#busy.add(-1)
      const next = this.#waiting.shift()
      if (next !== undefined) this.#begin(next)
      done()
    })
  }
}

/** Queue that removes its first item in constant time. */
export class Fifo<T> {
  #items: T[] = []
  #first = 0

  get size(): number {
    return this.#items.length - this.#first
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    const item = this.#items[this.#first]
    if (item !== undefined && ++this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
    return item
  }

  /** Removes and returns the first items. */
  take(max: number): T[] {
    return Array.from({ length: Math.min(max, this.size) }, () => this.shift()!)
  }
}
