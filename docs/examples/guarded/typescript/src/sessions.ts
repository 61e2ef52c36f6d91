/** The Nexus service of sessions, as docs/guarded-tools.md describes its messages. */

import * as nexus from 'nexus-rpc';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Terms {
  budget?: { amount: string; currency: string };
  requester?: string;
  /** Seconds in which nobody touches the session; it is rolled back then. */
  idle_limit?: number;
  on_idle?: 'rollback' | 'park';
  session_id?: string;
}

export interface Session {
  session_id: string;
  saga_id?: string;
}

export interface WantedCall {
  session_id: string;
  tool: string;
  arguments?: { [name: string]: Json };
  /** For the person who reads the card. */
  reason?: string;
  /** The call of a key is made once. */
  key?: string;
}

export interface CallRef {
  session_id: string;
  call_id: string;
}

export interface Call {
  call_id: string;
  tool: string;
  outcome: 'succeeded' | 'rejected' | 'refused' | 'invalid' | 'expired' | 'unknown' | 'cancelled';
  body?: Json;
  reason?: string;
  hint?: string;
}

export interface Ended {
  session_id: string;
  saga_id: string;
  status: 'completed' | 'rolled_back';
  reason?: string;
}

export const orchestratorSessions = nexus.service('OrchestratorSessions', {
  open: nexus.operation<Terms, Session>(),
  begin: nexus.operation<WantedCall, CallRef>(),
  outcome: nexus.operation<CallRef, Call>(),
  call: nexus.operation<WantedCall, Call>(),
  complete: nexus.operation<Session, Ended>(),
  rollback: nexus.operation<Session & { reason?: string }, Ended>(),
});
