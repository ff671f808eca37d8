// Stands between a host and its sidecar: `tap.mjs RECORD LOST PROGRAM ARGUMENT…` appends what the
// host says, and both process ids, to the file RECORD, and passes everything on but the host's
// answers to the question LOST.

import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [record, lost, program, ...args] = process.argv.slice(2)
const lostIds = new Set()
const sidecar = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
sidecar.on('exit', (code) => process.exit(code ?? 1))
sidecar.stdin.on('error', () => {})

function put(line) {
  appendFileSync(record, `${line}\n`)
}

put(JSON.stringify({ pid: process.pid }))
put(JSON.stringify({ pid: sidecar.pid }))
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method } = JSON.parse(line)
    put(line.length < 100_000 ? line : '{}')
    if (method === undefined && lostIds.has(id)) return
    sidecar.stdin.write(`${line}\n`)
  })
  .on('close', () => sidecar.stdin.end())
createInterface({ input: sidecar.stdout }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (method === lost) lostIds.add(id)
  process.stdout.write(`${line}\n`)
})
