/**
 * Names of places that are no IANA zone's own city, or are written differently elsewhere, one zone a line: English and other Latin names
 * (small letters, without accents), Chinese in both scripts, Japanese, Korean; cities first, then the country where it has one zone.
 */
const table = `
UTC: utc, gmt, coordinated universal time, weltzeit, 世界时, 世界時, 協定世界時, 协调世界时, 協調世界時, 格林威治, 格林尼治
Asia/Tokyo: tokio, osaka, kyoto, kioto, yokohama, nagoya, sapporo, fukuoka, hiroshima, kobe, okinawa, japan, japon, jst
Asia/Tokyo: 東京, 东京, 大阪, 京都, 横浜, 横滨, 橫濱, 名古屋, 札幌, 福岡, 福冈, 広島, 广岛, 廣島, 神戸, 神户, 沖縄, 冲绳
Asia/Tokyo: 日本, 도쿄, 오사카, 교토, 일본
Asia/Shanghai: beijing, peking, shenzhen, guangzhou, canton, hangzhou, nanjing, chengdu, wuhan, xi'an, xian, china
Asia/Shanghai: 北京, 上海, 深圳, 广州, 廣州, 杭州, 南京, 成都, 武汉, 武漢, 西安, 重庆, 重慶, 天津, 中国, 中國, 베이징, 상하이
Asia/Hong_Kong: hongkong, 香港, 홍콩
Asia/Macau: macao, 澳门, 澳門, マカオ
Asia/Taipei: taipeh, taiwan, kaohsiung, 台北, 臺北, 台湾, 台灣, 臺灣, 高雄, 타이베이
Asia/Seoul: busan, incheon, korea, south korea, sudkorea, 首尔, 首爾, 汉城, 釜山, 韩国, 韓國, 韓国, ソウル, 서울, 부산, 한국
Asia/Pyongyang: north korea, nordkorea, 平壤, 朝鲜, 朝鮮
Asia/Singapore: singapur, 新加坡, シンガポール, 싱가포르
Asia/Bangkok: thailand, phuket, chiang mai, 曼谷, 泰国, 泰國, バンコク, 방콕
Asia/Ho_Chi_Minh: ho chi minh city, ho chi minh, saigon, hanoi, vietnam, 河内, 河內, 胡志明市, 越南, ハノイ, ベトナム, 하노이
Asia/Jakarta: djakarta, bandung, インドネシア, 印度尼西亚, 印度尼西亞, 印尼, 雅加达, 雅加達, ジャカルタ, 자카르타
Asia/Makassar: bali, denpasar, 巴厘岛, 峇里島, バリ島
Asia/Kuala_Lumpur: malaysia, 吉隆坡, 马来西亚, 馬來西亞, クアラルンプール
Asia/Manila: philippines, philippinen, cebu, 马尼拉, 馬尼拉, 菲律宾, 菲律賓, マニラ, 마닐라
Asia/Kolkata: kolkata, mumbai, bombay, delhi, new delhi, neu-delhi, bangalore, bengaluru, chennai, hyderabad, pune, india, indien, ist
Asia/Kolkata: 孟买, 孟買, 新德里, 德里, 加尔各答, 班加罗尔, 印度, ムンバイ, デリー, インド, 뭄바이, 인도
Asia/Kathmandu: kathmandu, nepal, 加德满都, 加德滿都, 尼泊尔
Asia/Yangon: yangon, myanmar, 仰光
Asia/Karachi: pakistan, islamabad, lahore, 卡拉奇
Asia/Dhaka: bangladesh, 达卡, 達卡
Asia/Dubai: abu dhabi, emirates, vae, uae, 迪拜, 杜拜, 阿布扎比, ドバイ, 두바이
Asia/Riyadh: riad, saudi arabia, mecca, mekka, 利雅得, リヤド
Asia/Qatar: doha, katar, 多哈, ドーハ
Asia/Tehran: teheran, iran, 德黑兰, 德黑蘭, テヘラン
Asia/Jerusalem: tel aviv, tel-aviv, israel, 耶路撒冷, 特拉维夫, エルサレム, テルアビブ
Europe/Berlin: munich, munchen, hamburg, cologne, koln, frankfurt, stuttgart, dusseldorf, leipzig, dresden, germany, deutschland, cet, mez
Europe/Berlin: 柏林, 慕尼黑, 汉堡, 漢堡, 法兰克福, 法蘭克福, 德国, 德國, ベルリン, ミュンヘン, フランクフルト, ドイツ, 베를린, 독일
Europe/Paris: lyon, marseille, france, frankreich, 巴黎, 法国, 法國, パリ, フランス, 파리, 프랑스
Europe/London: londres, manchester, liverpool, edinburgh, england, scotland, great britain, united kingdom, uk, bst
Europe/London: 伦敦, 倫敦, 英国, 英國, ロンドン, イギリス, 런던, 영국
Europe/Rome: rom, roma, milan, mailand, milano, venice, venedig, naples, italy, italien, 罗马, 羅馬, 米兰, 米蘭, 意大利, ローマ, ミラノ, 로마
Europe/Madrid: barcelona, seville, spain, spanien, 马德里, 馬德里, 巴塞罗那, 巴塞隆納, 西班牙, マドリード, バルセロナ, 마드리드
Europe/Lisbon: lissabon, lisboa, portugal, 里斯本, リスボン
Europe/Amsterdam: rotterdam, netherlands, niederlande, holland, 阿姆斯特丹, 荷兰, 荷蘭, アムステルダム
Europe/Brussels: brussel, bruxelles, belgium, belgien, 布鲁塞尔, 布魯塞爾, ブリュッセル
Europe/Zurich: geneva, genf, geneve, basel, bern, switzerland, schweiz, 苏黎世, 蘇黎世, 日内瓦, 瑞士, チューリッヒ, ジュネーブ
Europe/Vienna: wien, salzburg, graz, austria, osterreich, 维也纳, 維也納, 奥地利, ウィーン
Europe/Prague: prag, praha, 布拉格, プラハ
Europe/Warsaw: warschau, warszawa, krakow, krakau, poland, polen, 华沙, 華沙, ワルシャワ
Europe/Copenhagen: kopenhagen, denmark, danemark, 哥本哈根, コペンハーゲン
Europe/Stockholm: sweden, schweden, 斯德哥尔摩, ストックホルム
Europe/Oslo: norway, norwegen, 奥斯陆, オスロ
Europe/Helsinki: finland, finnland, 赫尔辛基, ヘルシンキ
Europe/Dublin: ireland, irland, 都柏林, ダブリン
Europe/Athens: athen, greece, griechenland, 雅典, アテネ
Europe/Istanbul: ankara, turkey, turkei, 伊斯坦布尔, 伊斯坦堡, イスタンブール, 이스탄불
Europe/Kyiv: kyiv, kiew, ukraine, 基辅, 基輔, キーウ, キエフ
Europe/Moscow: moskau, moskva, st petersburg, saint petersburg, msk, 莫斯科, モスクワ, 모스크바
Atlantic/Reykjavik: iceland, 雷克雅未克, レイキャビク
Africa/Cairo: kairo, egypt, agypten, 开罗, 開羅, カイロ
Africa/Johannesburg: cape town, kapstadt, durban, south africa, sudafrika, 约翰内斯堡, 开普敦, ケープタウン
Africa/Nairobi: kenya, kenia, 内罗毕, ナイロビ
Africa/Lagos: nigeria, abuja, 拉各斯
America/New_York: nyc, boston, washington, miami, atlanta, philadelphia, orlando, florida, est, edt, eastern time
America/New_York: 纽约, 紐約, 华盛顿, 華盛頓, 波士顿, 波士頓, ニューヨーク, ワシントン, ボストン, 뉴욕
America/Chicago: houston, dallas, austin, new orleans, texas, cst, cdt, central time, 芝加哥, 休斯敦, シカゴ, 시카고
America/Denver: salt lake city, colorado, mst, mdt, mountain time, 丹佛, デンバー
America/Los_Angeles: la, san francisco, san diego, seattle, las vegas, silicon valley, california, kalifornien, pst, pdt, pacific time
America/Los_Angeles: 洛杉矶, 洛杉磯, 旧金山, 舊金山, 三藩市, 西雅图, 西雅圖, ロサンゼルス, サンフランシスコ, シアトル, 로스앤젤레스
Pacific/Honolulu: hawaii, hst, 夏威夷, 檀香山, ハワイ, ホノルル
America/Toronto: ottawa, montreal, 多伦多, 多倫多, 渥太华, 蒙特利尔, トロント, 토론토
America/Vancouver: 温哥华, 溫哥華, バンクーバー, 밴쿠버
America/Mexico_City: mexiko-stadt, mexico, mexiko, 墨西哥城, 墨西哥, メキシコシティ
America/Sao_Paulo: rio de janeiro, rio, brasilia, brazil, brasilien, 圣保罗, 聖保羅, 里约热内卢, サンパウロ, リオデジャネイロ, 상파울루
America/Argentina/Buenos_Aires: buenos aires, argentina, argentinien, 布宜诺斯艾利斯, ブエノスアイレス
America/Bogota: colombia, kolumbien, 波哥大, ボゴタ
America/Lima: peru, 利马, 利馬
America/Santiago: chile, 圣地亚哥, サンティアゴ
America/Nuuk: nuuk, greenland, gronland
Australia/Sydney: canberra, aest, aedt, 悉尼, 雪梨, シドニー, 시드니
Australia/Melbourne: 墨尔本, 墨爾本, メルボルン, 멜버른
Australia/Brisbane: 布里斯班, ブリスベン
Australia/Perth: 珀斯, 伯斯, パース
Pacific/Auckland: wellington, new zealand, neuseeland, 奥克兰, 奧克蘭, 新西兰, 紐西蘭, オークランド, ニュージーランド, 오클랜드
`;

/** Each zone with its further names. A zone may come more than once. */
export const placeNames: readonly { zone: string; names: string[] }[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [zone = '', names = ''] = line.split(': ');
    return { zone, names: names.split(', ') };
  });

/** Abbreviations that are ordinary words in small letters: they count only in capitals. */
export const capitalNames: ReadonlySet<string> = new Set(['la', 'ist', 'est', 'mez']);

/** Zones whose city is an ordinary word or a person's name; they are understood by their full name, such as `Pacific/Easter`. */
export const ordinaryWords: ReadonlySet<string> = new Set(
  'adak casey center chatham christmas creston davis dawson easter jersey knox male midway nome norfolk oral palmer resolute reunion stanley troll wake'.split(
    ' ',
  ),
);
