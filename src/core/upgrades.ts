/** What a proxy that passes no websockets on takes away, and what to set. */
export const droppedUpgrade = {
  problem: 'A proxy in front of the gateway passes no websockets on: it drops the header "Upgrade"',
  cure:
    'In nginx set proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade"; in other proxies turn ' +
    'websockets on for /ws (docs/operations.md, "A reverse proxy with TLS").',
};

/** Whether websockets reach the gateway, as far as browsers have tried. */
export interface UpgradeWatch {
  /** The latest attempt came without the upgrade. */
  isDropped: boolean;
}
